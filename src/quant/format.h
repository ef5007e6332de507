// The tensor types of GGUF: number, name, block geometry. Sizes come from the structs in blocks.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "quant/tensor_type.h"

namespace lockstep::quant {

struct FormatInfo {
  TensorType type;
  std::string_view name;  // "Q4_K", as GGUF tools print it
  uint32_t block_size;    // elements per block along ne[0]
  uint32_t block_bytes;   // sizeof the block struct
  bool supported;         // lockstep can compute with it
};

// Nothing for a number that no type has.
[[nodiscard]] const FormatInfo* find_format(uint32_t type_number);
[[nodiscard]] const FormatInfo& format_info(TensorType type);
[[nodiscard]] std::string_view to_string(TensorType type);
[[nodiscard]] const FormatInfo* find_format_by_name(std::string_view name);
// All known types, supported or not.
[[nodiscard]] std::span<const FormatInfo> all_formats();

// Bytes of a row of n elements (n a multiple of the block size).
[[nodiscard]] uint64_t row_bytes(TensorType type, uint64_t n);

}  // namespace lockstep::quant
