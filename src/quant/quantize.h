// Rows of fp32 numbers as GGUF tensor data, for tests and tools: the results of ggml's reference quantizers. Stateless;
// safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/tensor_type.h"

namespace lockstep::quant {

// Round to nearest even; NaN stays a quiet NaN.
[[nodiscard]] uint16_t f32_to_bf16(float value);

// Writes row_bytes(type, n) bytes. Types: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0; kUnsupported is thrown for
// others. n is a multiple of the type's block size; x is finite and does not overlap `out`, which may start at any
// address. Equal to ggml's quantize_row_*_ref wherever those are defined: a block so small that 1 / d overflows (|x|
// below about 2^-125) converts numbers out of range there, and saturates here.
void quantize_row(TensorType type, const float* x, uint64_t n, std::byte* out);

}  // namespace lockstep::quant
