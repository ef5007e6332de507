// One row of a GGUF file's tensor table. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "quant/format.h"

namespace lockstep::gguf {

struct TensorInfo {
  std::string name;
  quant::TensorType type;
  uint32_t n_dims;
  std::array<uint64_t, 4> shape;  // ne[0] first: the contiguous (input) dimension; unused dimensions are 1
  uint64_t offset;                // relative to its shard's data_start, as stored
  uint64_t bytes;                 // derived from type and shape
  uint32_t shard;                 // index of the file that holds it

  [[nodiscard]] uint64_t n_elements() const {  // checked at load
    return shape[0] * shape[1] * shape[2] * shape[3];
  }
};

}  // namespace lockstep::gguf
