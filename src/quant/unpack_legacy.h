// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 in the one form. See unpack.h.
#pragma once

#include "quant/unpack_form.h"

namespace lockstep::quant {
namespace {

// 16 bytes of nibbles: the low ones are elements 0..15, the high ones 16..31; every one minus `zero`.
[[gnu::always_inline]] inline void unpack_nibbles(const uint8_t* qs, int zero, int8_t* q) {
  const Bytes16 nibbles = load_16(qs);
  store_16((nibbles & 15) - static_cast<uint8_t>(zero), q);
  store_16((nibbles >> 4) - static_cast<uint8_t>(zero), q + 16);
}

// 16 in every element i whose bit i of the two bytes at qh is set, else 0.
[[gnu::always_inline]] inline Bytes16 fifth_bits(const uint8_t* qh) {
  using Words2 [[gnu::vector_size(16)]] = uint64_t;
  const Words2 repeated = {qh[0] * uint64_t{0x0101010101010101}, qh[1] * uint64_t{0x0101010101010101}};
  const auto spread = reinterpret_cast<Bytes16>(repeated);
  const Bytes16 bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return reinterpret_cast<Bytes16>((spread & bit) != 0) & 16;
}

// As unpack_nibbles, with bit i of qh the fifth bit of element i.
[[gnu::always_inline]] inline void unpack_five_bits(const uint8_t* qs, const uint8_t* qh, int zero, int8_t* q) {
  const Bytes16 nibbles = load_16(qs);
  store_16(((nibbles & 15) | fifth_bits(qh)) - static_cast<uint8_t>(zero), q);
  store_16(((nibbles >> 4) | fifth_bits(qh + 2)) - static_cast<uint8_t>(zero), q + 16);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ4_0& block, Unpacked& out) {
  unpack_nibbles(block.qs, 8, out.q);
  out.ws[0] = f16_to_f32(block.d);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ4_1& block, Unpacked& out) {
  unpack_nibbles(block.qs, 0, out.q);
  out.ws[0] = f16_to_f32(block.d);
  out.wm[0] = f16_to_f32(block.m);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ5_0& block, Unpacked& out) {
  unpack_five_bits(block.qs, block.qh, 16, out.q);
  out.ws[0] = f16_to_f32(block.d);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ5_1& block, Unpacked& out) {
  unpack_five_bits(block.qs, block.qh, 0, out.q);
  out.ws[0] = f16_to_f32(block.d);
  out.wm[0] = f16_to_f32(block.m);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ8_0& block, Unpacked& out) {
  __builtin_memcpy(out.q, block.qs, sizeof(block.qs));
  out.ws[0] = f16_to_f32(block.d);
}

}  // namespace
}  // namespace lockstep::quant
