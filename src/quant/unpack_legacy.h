// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 in the one form. See unpack.h.
#pragma once

#include "quant/unpack_form.h"

namespace lockstep::quant {
namespace {

// 32 elements of 4 bits: the low nibbles are elements 0..15, the high ones 16..31.
[[gnu::always_inline]] inline void split_nibbles(const uint8_t* __restrict qs, uint8_t* __restrict u) {
  extract_bits<16, 0, 4>(qs, u);
  extract_bits<16, 4, 4>(qs, u + 16);
}

// Bit i of qh is the fifth bit of element i.
[[gnu::always_inline]] inline void add_fifth_bits(const uint8_t* __restrict qh, uint8_t* __restrict u) {
  for (int j = 0; j < 4; ++j) {
    uint64_t eight = 0;
    __builtin_memcpy(&eight, u + 8 * j, sizeof(eight));
    eight |= spread_bits(qh[j]) >> 3;
    __builtin_memcpy(u + 8 * j, &eight, sizeof(eight));
  }
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ4_0& block, Unpacked& out) {
  uint8_t u[32];
  split_nibbles(block.qs, u);
  subtract_zero<32, 8>(u, out.q);
  out.ws[0] = f16_to_f32(block.d);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ4_1& block, Unpacked& out) {
  uint8_t u[32];
  split_nibbles(block.qs, u);
  subtract_zero<32, 0>(u, out.q);
  out.ws[0] = f16_to_f32(block.d);
  out.wm[0] = f16_to_f32(block.m);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ5_0& block, Unpacked& out) {
  uint8_t u[32];
  split_nibbles(block.qs, u);
  add_fifth_bits(block.qh, u);
  subtract_zero<32, 16>(u, out.q);
  out.ws[0] = f16_to_f32(block.d);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ5_1& block, Unpacked& out) {
  uint8_t u[32];
  split_nibbles(block.qs, u);
  add_fifth_bits(block.qh, u);
  subtract_zero<32, 0>(u, out.q);
  out.ws[0] = f16_to_f32(block.d);
  out.wm[0] = f16_to_f32(block.m);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ8_0& block, Unpacked& out) {
  __builtin_memcpy(out.q, block.qs, sizeof(block.qs));
  out.ws[0] = f16_to_f32(block.d);
}

}  // namespace
}  // namespace lockstep::quant
