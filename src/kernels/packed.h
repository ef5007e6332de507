// R16, the layout that the vector kernels read: groups of 16 rows, block by block along k, in the same number of bytes
// as the file.
//
// A unit (16 rows x one block) begins with the rows' scales, then come lines of 64 bytes = one dword of quants of each
// row, in the file's own order and nibble order (a plain transposition of dwords). Per unit:
//   Q4_0, Q4_1   f16 d[16] (f16 m[16]); 4 lines: line j holds k = 4j.. (low nibbles) and 16 + 4j.. (high)
//   Q5_0, Q5_1   the same with one line of fifth bits before: byte i, bit j for k = 4j + i, bit 4 + j for k = 16 + 4j +
//   i Q8_0         f16 d[16]; 8 lines Q4_K, Q5_K   f16 d[16], f16 dmin[16]; 3 lines of scales and minima: line g, byte
//   i: scale (low nibble) and minimum (high) of
//                sub-block 4g + i without their top bits; line 2, byte i: the top bits of scale i, scale 4 + i, minimum
//                i, minimum 4 + i; (Q5_K: 8 lines of fifth bits, bit s for sub-block s;) 32 lines
//   Q6_K         f16 d[16]; 4 lines of int8 scales; for each half of 128 elements and i = 0..7 the low bits of dwords i
//   and 8 + i and the high
//                bits of dword i, side by side: a unit is read from front to back, or the CPU does not see that it is a
//                stream
//   F32, F16, BF16   one unit per element of k: the 16 rows' values
// Other types keep their rows as they are; their kernels unpack 16 rows at a time. A last group of fewer than 16 rows
// is filled up with zero blocks, so that n_rows is rounded up to 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/blocks.h"
#include "quant/tensor_type.h"

namespace lockstep::kernels {

inline constexpr int kRowsPerGroup = 16;

// Bytes of a unit of the types that are transposed; 0 for others.
[[gnu::always_inline]] constexpr int packed_unit_bytes(quant::TensorType type) {
  using enum quant::TensorType;
  switch (type) {
    case kQ4_0:
      return kRowsPerGroup * static_cast<int>(sizeof(quant::BlockQ4_0));
    case kQ4_1:
      return kRowsPerGroup * static_cast<int>(sizeof(quant::BlockQ4_1));
    case kQ5_0:
      return kRowsPerGroup * static_cast<int>(sizeof(quant::BlockQ5_0));
    case kQ5_1:
      return kRowsPerGroup * static_cast<int>(sizeof(quant::BlockQ5_1));
    case kQ8_0:
      return kRowsPerGroup * static_cast<int>(sizeof(quant::BlockQ8_0));
    case kQ4_K:
      return kRowsPerGroup * static_cast<int>(sizeof(quant::BlockQ4_K));
    case kQ5_K:
      return kRowsPerGroup * static_cast<int>(sizeof(quant::BlockQ5_K));
    case kQ6_K:
      return kRowsPerGroup * static_cast<int>(sizeof(quant::BlockQ6_K));
    case kF32:
      return kRowsPerGroup * 4;
    case kF16:
    case kBF16:
      return kRowsPerGroup * 2;
    default:
      return 0;
  }
}

// 16 rows of n_cols elements, one after another at `rows` (row_bytes each), into a group at `out` (16 * row_bytes).
// Rows from n_rows on are taken as zero. No overlap.
void pack_group(quant::TensorType type, const std::byte* rows, int64_t n_rows, int64_t n_cols, uint64_t row_bytes,
                std::byte* out) noexcept;

// False when a scale or minimum (a value, of a float type) of a packed group is infinite or NaN: while packing, this
// costs next to nothing, because they lie side by side and in the cache. Only for types that are transposed.
[[nodiscard]] bool group_is_finite(quant::TensorType type, const std::byte* group, int64_t n_cols) noexcept;

// Row r (0..15) of a packed group back into the file's form, `row` [row_bytes].
void unpack_row(quant::TensorType type, const std::byte* group, int64_t r, int64_t n_cols, uint64_t row_bytes,
                std::byte* row) noexcept;

}  // namespace lockstep::kernels
