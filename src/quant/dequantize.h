// Whole rows of any supported tensor type as fp32, and the check for scales that are not numbers. Stateless; safe from
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/tensor_type.h"

namespace lockstep::quant {

// n weights of a row: exact for F32, F16 and BF16, fl(ws * q + wm) for the others (NUMERICS.md section 1), bit for bit
// what ggml and its Python package give. n is a multiple of the type's block size; `row` may start at any address and
// does not overlap `out`. A scale that is not finite (see below) gives unspecified weights. Throws kUnsupported for a
// type that lockstep does not compute with.
void dequantize_row(TensorType type, const std::byte* row, uint64_t n, float* out);

// True if every scale and minimum of the blocks (for F32, F16 and BF16, of which a block is one element: every value)
// is finite. MXFP4 has no scale that is not. `blocks` may start at any address. Throws kUnsupported as above.
[[nodiscard]] bool scales_are_finite(TensorType type, const std::byte* blocks, uint64_t n_blocks);

}  // namespace lockstep::quant
