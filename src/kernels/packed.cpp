#include "kernels/packed.h"

#include <cstring>

#include "quant/dequantize.h"
#include "quant/unpack.h"

namespace lockstep::kernels {
namespace {

using quant::TensorType;
using Byte = uint8_t;

constexpr int kLine = 64;

// Copies between a row's block and its places in a unit; `Pack` says in which direction.
enum class Direction { kPack, kUnpack };

template <Direction direction>
void move(Byte* in_unit, Byte* in_block, size_t n) {
  if constexpr (direction == Direction::kPack) {
    std::memcpy(in_unit, in_block, n);
  } else {
    std::memcpy(in_block, in_unit, n);
  }
}

// n_lines dwords of a row to or from consecutive lines.
template <Direction direction>
void move_lines(Byte* lines, int64_t r, Byte* dwords, int n_lines) {
  for (int j = 0; j < n_lines; ++j) move<direction>(lines + j * kLine + r * 4, dwords + j * 4, 4);
}

// Bits of the 32 fifth bits of a legacy block (bit k for element k) in their place in the packed dword: byte i, bit j
// or 4 + j.
uint32_t spread_fifth_bits(uint32_t native) {
  uint32_t packed = 0;
  for (uint32_t k = 0; k < 32; ++k) {
    const uint32_t i = k % 4;
    const uint32_t bit = k < 16 ? k / 4 : 4 + (k - 16) / 4;
    packed |= ((native >> k) & 1u) << (8 * i + bit);
  }
  return packed;
}

uint32_t gather_fifth_bits(uint32_t packed) {
  uint32_t native = 0;
  for (uint32_t k = 0; k < 32; ++k) {
    const uint32_t bit = k < 16 ? k / 4 : 4 + (k - 16) / 4;
    native |= ((packed >> (8 * (k % 4) + bit)) & 1u) << k;
  }
  return native;
}

template <Direction direction>
void move_fifth_bits(Byte* line, int64_t r, Byte* qh) {
  uint32_t bits = 0;
  if constexpr (direction == Direction::kPack) {
    std::memcpy(&bits, qh, 4);
    bits = spread_fifth_bits(bits);
    std::memcpy(line + r * 4, &bits, 4);
  } else {
    std::memcpy(&bits, line + r * 4, 4);
    bits = gather_fifth_bits(bits);
    std::memcpy(qh, &bits, 4);
  }
}

// The 8 scales and minima of 6 bits of Q4_K and Q5_K, from 12 bytes to three dwords and back. In the file, bytes 0..3
// and 4..7 hold scales and minima 0..3 with the top bits of 4..7 above them, bytes 8..11 the low nibbles of 4..7.
struct SuperScales {
  Byte scale[8], minimum[8];

  static SuperScales from_file(const Byte* s) {
    SuperScales out = {};
    for (int i = 0; i < 4; ++i) {
      out.scale[i] = s[i] & 63;
      out.minimum[i] = s[4 + i] & 63;
      out.scale[4 + i] = static_cast<Byte>((s[8 + i] & 15) | (s[i] >> 6 << 4));
      out.minimum[4 + i] = static_cast<Byte>((s[8 + i] >> 4) | (s[4 + i] >> 6 << 4));
    }
    return out;
  }
  void to_file(Byte* s) const {
    for (int i = 0; i < 4; ++i) {
      s[i] = static_cast<Byte>(scale[i] | (scale[4 + i] >> 4 << 6));
      s[4 + i] = static_cast<Byte>(minimum[i] | (minimum[4 + i] >> 4 << 6));
      s[8 + i] = static_cast<Byte>((scale[4 + i] & 15) | ((minimum[4 + i] & 15) << 4));
    }
  }
  void to_lines(Byte* lines, int64_t r) const {
    for (int i = 0; i < 4; ++i) {
      lines[r * 4 + i] = static_cast<Byte>((scale[i] & 15) | ((minimum[i] & 15) << 4));
      lines[kLine + r * 4 + i] = static_cast<Byte>((scale[4 + i] & 15) | ((minimum[4 + i] & 15) << 4));
      lines[2 * kLine + r * 4 + i] = static_cast<Byte>((scale[i] >> 4) | (scale[4 + i] >> 4 << 2) |
                                                       (minimum[i] >> 4 << 4) | (minimum[4 + i] >> 4 << 6));
    }
  }
  static SuperScales from_lines(const Byte* lines, int64_t r) {
    SuperScales out = {};
    for (int i = 0; i < 4; ++i) {
      const Byte low = lines[r * 4 + i];
      const Byte high = lines[kLine + r * 4 + i];
      const Byte top = lines[2 * kLine + r * 4 + i];
      out.scale[i] = static_cast<Byte>((low & 15) | ((top & 3) << 4));
      out.scale[4 + i] = static_cast<Byte>((high & 15) | ((top >> 2 & 3) << 4));
      out.minimum[i] = static_cast<Byte>((low >> 4) | ((top >> 4 & 3) << 4));
      out.minimum[4 + i] = static_cast<Byte>((high >> 4) | ((top >> 6 & 3) << 4));
    }
    return out;
  }
};

template <Direction direction>
void move_super_scales(Byte* lines, int64_t r, Byte* scales) {
  if constexpr (direction == Direction::kPack) {
    SuperScales::from_file(scales).to_lines(lines, r);
  } else {
    SuperScales::from_lines(lines, r).to_file(scales);
  }
}

template <Direction direction, typename Block>
void move_nibble_block(Byte* unit, int64_t r, Block& block) {
  move<direction>(unit + r * 2, reinterpret_cast<Byte*>(&block.d), 2);
  Byte* lines = unit + 32;
  if constexpr (requires { block.m; }) {
    move<direction>(lines + r * 2, reinterpret_cast<Byte*>(&block.m), 2);
    lines += 32;
  }
  if constexpr (requires { block.qh; }) {
    move_fifth_bits<direction>(lines, r, block.qh);
    lines += kLine;
  }
  move_lines<direction>(lines, r, reinterpret_cast<Byte*>(block.qs), sizeof(block.qs) / 4);
}

template <Direction direction, typename Block>
void move_super_block(Byte* unit, int64_t r, Block& block) {
  move<direction>(unit + r * 2, reinterpret_cast<Byte*>(&block.d), 2);
  move<direction>(unit + 32 + r * 2, reinterpret_cast<Byte*>(&block.dmin), 2);
  move_super_scales<direction>(unit + 64, r, block.scales);
  Byte* lines = unit + 64 + 3 * kLine;
  if constexpr (requires { block.qh; }) {
    move_lines<direction>(lines, r, block.qh, sizeof(block.qh) / 4);
    lines += sizeof(block.qh) / 4 * kLine;
  }
  move_lines<direction>(lines, r, block.qs, sizeof(block.qs) / 4);
}

template <Direction direction>
void move_block(Byte* unit, int64_t r, quant::BlockQ4_0& block) {
  move_nibble_block<direction>(unit, r, block);
}
template <Direction direction>
void move_block(Byte* unit, int64_t r, quant::BlockQ4_1& block) {
  move_nibble_block<direction>(unit, r, block);
}
template <Direction direction>
void move_block(Byte* unit, int64_t r, quant::BlockQ5_0& block) {
  move_nibble_block<direction>(unit, r, block);
}
template <Direction direction>
void move_block(Byte* unit, int64_t r, quant::BlockQ5_1& block) {
  move_nibble_block<direction>(unit, r, block);
}
template <Direction direction>
void move_block(Byte* unit, int64_t r, quant::BlockQ8_0& block) {
  move_nibble_block<direction>(unit, r, block);
}
template <Direction direction>
void move_block(Byte* unit, int64_t r, quant::BlockQ4_K& block) {
  move_super_block<direction>(unit, r, block);
}
template <Direction direction>
void move_block(Byte* unit, int64_t r, quant::BlockQ5_K& block) {
  move_super_block<direction>(unit, r, block);
}
template <Direction direction>
void move_block(Byte* unit, int64_t r, quant::BlockQ6_K& block) {
  move<direction>(unit + r * 2, reinterpret_cast<Byte*>(&block.d), 2);
  move_lines<direction>(unit + 32, r, reinterpret_cast<Byte*>(block.scales), 4);
  Byte* lines = unit + 32 + 4 * kLine;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 8; ++i, lines += 3 * kLine) {
      move_lines<direction>(lines, r, block.ql + 64 * half + 4 * i, 1);
      move_lines<direction>(lines + kLine, r, block.ql + 64 * half + 32 + 4 * i, 1);
      move_lines<direction>(lines + 2 * kLine, r, block.qh + 32 * half + 4 * i, 1);
    }
  }
}

// A number of a float type: 16 values side by side.
template <int n_bytes>
struct Element {
  Byte value[n_bytes];
};
template <Direction direction, int n_bytes>
void move_block(Byte* unit, int64_t r, Element<n_bytes>& element) {
  move<direction>(unit + r * n_bytes, element.value, n_bytes);
}

template <Direction direction, typename Block>
void move_row(std::byte* group, int64_t r, int64_t n_blocks, std::byte* row) {
  for (int64_t b = 0; b < n_blocks; ++b) {
    auto& block = *reinterpret_cast<Block*>(row + b * static_cast<int64_t>(sizeof(Block)));
    move_block<direction>(reinterpret_cast<Byte*>(group) + b * kRowsPerGroup * static_cast<int64_t>(sizeof(Block)), r,
                          block);
  }
}

// f(Block{}, elements per block) for the types that are transposed.
template <typename F>
void visit_block(TensorType type, const F& f) {
  using enum TensorType;
  switch (type) {
    case kQ4_0:
      return f(quant::BlockQ4_0{}, 32);
    case kQ4_1:
      return f(quant::BlockQ4_1{}, 32);
    case kQ5_0:
      return f(quant::BlockQ5_0{}, 32);
    case kQ5_1:
      return f(quant::BlockQ5_1{}, 32);
    case kQ8_0:
      return f(quant::BlockQ8_0{}, 32);
    case kQ4_K:
      return f(quant::BlockQ4_K{}, 256);
    case kQ5_K:
      return f(quant::BlockQ5_K{}, 256);
    case kQ6_K:
      return f(quant::BlockQ6_K{}, 256);
    case kF32:
      return f(Element<4>{}, 1);
    case kF16:
    case kBF16:
      return f(Element<2>{}, 1);
    default:
      return;
  }
}

template <Direction direction>
void move_row_of(TensorType type, std::byte* group, int64_t r, int64_t n_cols, std::byte* row) {
  visit_block(type, [&]<typename Block>(const Block&, int n_elements) {
    move_row<direction, Block>(group, r, n_cols / n_elements, row);
  });
}

// Eight f16 numbers. A type of the compiler, since plain loops leave what they have found in memory.
using Halves [[gnu::vector_size(16)]] = uint16_t;

constexpr Halves splat(uint16_t bits) {
  return Halves{bits, bits, bits, bits, bits, bits, bits, bits};
}

// Of the n f16 numbers that each unit begins with: one more than an exponent of all ones carries into the sign's place.
template <int n>
bool scales_are_finite(const std::byte* group, int64_t n_units, int64_t unit_bytes) {
  constexpr Halves kExponent = splat(0x7c00);
  constexpr Halves kOne = splat(0x0400);
  Halves found = {};
  for (int64_t u = 0; u < n_units; ++u) {
    for (int i = 0; i < n; i += 8) {
      Halves scales;
      std::memcpy(&scales, group + u * unit_bytes + i * 2, sizeof(scales));
      found |= (scales & kExponent) + kOne;
    }
  }
  unsigned any = 0;
  for (int i = 0; i < 8; ++i) any |= found[i];
  return (any & 0x8000u) == 0;
}

}  // namespace

void pack_group(TensorType type, const std::byte* rows, int64_t n_rows, int64_t n_cols, uint64_t row_bytes,
                std::byte* out) noexcept {
  if (n_rows < kRowsPerGroup) std::memset(out, 0, kRowsPerGroup * row_bytes);
  if (packed_unit_bytes(type) == 0) {
    std::memcpy(out, rows, static_cast<uint64_t>(n_rows) * row_bytes);
    return;
  }
  for (int64_t r = 0; r < n_rows; ++r) {
    move_row_of<Direction::kPack>(type, out, r, n_cols,
                                  const_cast<std::byte*>(rows) + static_cast<uint64_t>(r) * row_bytes);
  }
}

void unpack_row(TensorType type, const std::byte* group, int64_t r, int64_t n_cols, uint64_t row_bytes,
                std::byte* row) noexcept {
  if (packed_unit_bytes(type) == 0) {
    std::memcpy(row, group + static_cast<uint64_t>(r) * row_bytes, row_bytes);
    return;
  }
  move_row_of<Direction::kUnpack>(type, const_cast<std::byte*>(group), r, n_cols, row);
}

bool group_is_finite(TensorType type, const std::byte* group, int64_t n_cols) noexcept {
  bool finite = true;
  visit_block(type, [&]<typename Block>(const Block&, int n_elements) {
    const int64_t n_units = n_cols / n_elements;
    if constexpr (
        requires(Block b) { b.dmin; } || requires(Block b) { b.m; }) {
      finite = scales_are_finite<2 * kRowsPerGroup>(group, n_units, packed_unit_bytes(type));
    } else if constexpr (requires(Block b) { b.d; }) {
      finite = scales_are_finite<kRowsPerGroup>(group, n_units, packed_unit_bytes(type));
    } else {
      finite = quant::scales_are_finite(type, group, static_cast<uint64_t>(n_cols * kRowsPerGroup));
    }
  });
  return finite;
}

}  // namespace lockstep::kernels
