// Mirostat (Basu et al., 2021): cuts the list so that the surprise of the drawn tokens stays near a target. Versions 1
// and 2 as in llama.cpp v0.4.0 (src/llama-sampler.cpp), where they replace every stage but logit bias and temperature.
#pragma once

#include <cstdint>

#include "sampling/candidates.h"

namespace lockstep::sampling {

class Mirostat {
 public:
  // target and rate are tau and eta of the paper; the largest surprise let through starts at 2 tau.
  Mirostat(int32_t version, double target, double rate, size_t n_vocab);

  // Removes what is too surprising for this step; the list holds one entry at least afterwards.
  void truncate(Candidates& list) const;

  // Learns from the probability that the drawn token had in the list that truncate left.
  void learn(double probability);

  // mu of the paper, in bits.
  [[nodiscard]] double largest_surprise() const noexcept { return largest_surprise_; }

 private:
  int32_t version_;
  double target_;
  double rate_;
  double n_vocab_;
  double largest_surprise_;
};

}  // namespace lockstep::sampling
