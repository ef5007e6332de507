// Rotation angles of a position, as a table of cosines and sines (Su et al. 2021; the order of fp32 roundings is
// llama.cpp's).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"

namespace lockstep::model {

class RopeTable {
 public:
  // `factors` divides the angles, one per pair (n_rot / 2), or is empty.
  RopeTable(const RopeConfig& config, std::span<const float> factors);

  // cos and sin of every pair, interleaved: cos_sin [n_rot / 2][2]. Thread-safe, the same bits on every machine.
  void fill(int64_t position, float* cos_sin) const noexcept;

 private:
  float theta_scale_;
  RopeConfig config_;
  std::vector<float> factors_;
};

}  // namespace lockstep::model
