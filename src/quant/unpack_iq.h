// IQ4_NL, IQ4_XS, IQ3_S in the one form: integers from tables. See unpack.h.
#pragma once

#include "quant/iq_tables.h"
#include "quant/unpack_form.h"

namespace lockstep::quant {
namespace {

// 32 table indices of 4 bits, low nibbles first.
[[gnu::always_inline]] inline void look_up_nibbles(const uint8_t* __restrict qs, int8_t* __restrict q) {
  for (int i = 0; i < 16; ++i) q[i] = kIQ4Values[qs[i] & 15];
  for (int i = 0; i < 16; ++i) q[i + 16] = kIQ4Values[qs[i] >> 4];
}

[[gnu::always_inline]] inline void unpack_block(const BlockIQ4_NL& block, Unpacked& out) {
  look_up_nibbles(block.qs, out.q);
  out.ws[0] = f16_to_f32(block.d);
}

[[gnu::always_inline]] inline void unpack_block(const BlockIQ4_XS& block, Unpacked& out) {
  for (int g = 0; g < 8; ++g) look_up_nibbles(block.qs + 16 * g, out.q + 32 * g);
  const float d = f16_to_f32(block.d);
  const int high = block.scales_h;
  for (int g = 0; g < 8; ++g) {
    const int low_bits = (block.scales_l[g / 2] >> (4 * (g % 2))) & 15;
    const int high_bits = (high >> (2 * g)) & 3;
    out.ws[g] = d * static_cast<float>((low_bits | (high_bits << 4)) - 32);
  }
}

// Eight bytes, byte i = 1 if bit i of `bits` is set, else 0. A byte that holds one bit plus 0x7f reaches 0x80 and never
// carries into the next.
[[gnu::always_inline]] inline uint64_t spread_bits(uint8_t bits) {
  const uint64_t one_bit_each = (bits * uint64_t{0x0101010101010101}) & uint64_t{0x8040201008040201};
  return ((one_bit_each + uint64_t{0x7f7f7f7f7f7f7f7f}) >> 7) & uint64_t{0x0101010101010101};
}

// Eight signed integers: two table rows of four magnitudes; a set bit of `signs` makes one negative.
[[gnu::always_inline]] inline void unpack_iq3_eight(uint32_t row0, uint32_t row1, uint8_t signs, int8_t* q) {
  const uint64_t magnitudes = row0 | (uint64_t{row1} << 32);
  const uint64_t negative = spread_bits(signs);
  // -m = (m ^ 0xff) + 1 in each byte; magnitudes are never 0, so no byte carries.
  const uint64_t value = (magnitudes ^ (negative * 0xff)) + negative;
  __builtin_memcpy(q, &value, sizeof(value));
}

[[gnu::always_inline]] inline void unpack_block(const BlockIQ3_S& block, Unpacked& out) {
  for (int i = 0; i < 32; ++i) {
    const int high = block.qh[i / 4] >> (2 * (i % 4));  // ninth bits of two indices
    const int index0 = block.qs[2 * i] | ((high & 1) << 8);
    const int index1 = block.qs[2 * i + 1] | ((high & 2) << 7);
    unpack_iq3_eight(kIQ3SGrid[index0], kIQ3SGrid[index1], block.signs[i], out.q + 8 * i);
  }
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 8; ++g) {
    const int s = (block.scales[g / 2] >> (4 * (g % 2))) & 15;
    out.ws[g] = d * static_cast<float>(2 * s + 1);
  }
}

}  // namespace
}  // namespace lockstep::quant
