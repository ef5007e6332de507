// Q2_K, Q3_K, Q4_K, Q5_K, Q6_K in the one form. See unpack.h.
#pragma once

#include "quant/unpack_form.h"

namespace lockstep::quant {
namespace {

// 128 elements of 2 bits in 32 bytes: bits 0..1 are elements 0..31, bits 2..3 elements 32..63, and so on.
[[gnu::always_inline]] inline void split_crumbs(const uint8_t* __restrict qs, uint8_t* __restrict u) {
  extract_bits<32, 0, 2>(qs, u);
  extract_bits<32, 2, 2>(qs, u + 32);
  extract_bits<32, 4, 2>(qs, u + 64);
  extract_bits<32, 6, 2>(qs, u + 96);
}

// ws and wm of the eight groups of Q4_K and Q5_K. Bytes 0..3 hold scales 0..3 in six bits, bytes 4..7 the minima 0..3;
// scales and minima 4..7 have four bits in bytes 8..11 and their upper two in the spare bits of bytes 0..7.
[[gnu::always_inline]] inline void unpack_six_bit_scales(const uint8_t* packed, float d, float dmin, Unpacked& out) {
  uint32_t words[3];
  __builtin_memcpy(words, packed, sizeof(words));
  const uint32_t scale_words[2] = {words[0] & 0x3f3f3f3fu, (words[2] & 0x0f0f0f0fu) | ((words[0] >> 2) & 0x30303030u)};
  const uint32_t min_words[2] = {words[1] & 0x3f3f3f3fu,
                                 ((words[2] >> 4) & 0x0f0f0f0fu) | ((words[1] >> 2) & 0x30303030u)};
  uint8_t scales[8];
  uint8_t mins[8];
  __builtin_memcpy(scales, scale_words, sizeof(scales));
  __builtin_memcpy(mins, min_words, sizeof(mins));
  scale_by<8>(d, scales, out.ws);
  scale_by<8>(-dmin, mins, out.wm);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ2_K& block, Unpacked& out) {
  uint8_t u[256];
  split_crumbs(block.qs, u);
  split_crumbs(block.qs + 32, u + 128);
  subtract_zero<256, 0>(u, out.q);
  uint8_t scales[16];
  uint8_t mins[16];
  extract_bits<16, 0, 4>(block.scales, scales);
  extract_bits<16, 4, 4>(block.scales, mins);
  scale_by<16>(f16_to_f32(block.d), scales, out.ws);
  scale_by<16>(-f16_to_f32(block.dmin), mins, out.wm);
}

// Bit `first_bit` + j of hmask[l] is the third bit of element 32 * j + l.
template <int first_bit>
[[gnu::always_inline]] inline void add_third_bits(const uint8_t* __restrict hmask, uint8_t* __restrict u) {
  insert_bits<32, first_bit, 1, 2>(hmask, u);
  insert_bits<32, first_bit + 1, 1, 2>(hmask, u + 32);
  insert_bits<32, first_bit + 2, 1, 2>(hmask, u + 64);
  insert_bits<32, first_bit + 3, 1, 2>(hmask, u + 96);
}

// Scale g has its low four bits in the nibbles of bytes 0..7 (low ones first), its upper two in byte 8 + g % 4 at 2 *
// (g / 4).
[[gnu::always_inline]] inline void unpack_q3_scales(const uint8_t* packed, int8_t* scales) {
  uint8_t u[16];
  extract_bits<8, 0, 4>(packed, u);
  extract_bits<8, 4, 4>(packed, u + 8);
  insert_bits<4, 0, 2, 4>(packed + 8, u);
  insert_bits<4, 2, 2, 4>(packed + 8, u + 4);
  insert_bits<4, 4, 2, 4>(packed + 8, u + 8);
  insert_bits<4, 6, 2, 4>(packed + 8, u + 12);
  subtract_zero<16, 32>(u, scales);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ3_K& block, Unpacked& out) {
  uint8_t u[256];
  split_crumbs(block.qs, u);
  split_crumbs(block.qs + 32, u + 128);
  add_third_bits<0>(block.hmask, u);
  add_third_bits<4>(block.hmask, u + 128);
  subtract_zero<256, 4>(u, out.q);
  int8_t scales[16];
  unpack_q3_scales(block.scales, scales);
  scale_by<16>(f16_to_f32(block.d), scales, out.ws);
}

// 64 elements of 4 bits in 32 bytes: low nibbles are elements 0..31, high ones 32..63.
[[gnu::always_inline]] inline void split_nibbles_32(const uint8_t* __restrict qs, uint8_t* __restrict u) {
  extract_bits<32, 0, 4>(qs, u);
  extract_bits<32, 4, 4>(qs, u + 32);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ4_K& block, Unpacked& out) {
  uint8_t u[256];
  for (int j = 0; j < 4; ++j) split_nibbles_32(block.qs + 32 * j, u + 64 * j);
  subtract_zero<256, 0>(u, out.q);
  unpack_six_bit_scales(block.scales, f16_to_f32(block.d), f16_to_f32(block.dmin), out);
}

// Elements 64 * pair .. 64 * pair + 63: bit 2 * pair (+ 1 for the second 32) of qh[l] is the fifth bit.
template <int pair>
[[gnu::always_inline]] inline void unpack_q5_pair(const BlockQ5_K& block, uint8_t* __restrict u) {
  split_nibbles_32(block.qs + 32 * pair, u);
  insert_bits<32, 2 * pair, 1, 4>(block.qh, u);
  insert_bits<32, 2 * pair + 1, 1, 4>(block.qh, u + 32);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ5_K& block, Unpacked& out) {
  uint8_t u[256];
  unpack_q5_pair<0>(block, u);
  unpack_q5_pair<1>(block, u + 64);
  unpack_q5_pair<2>(block, u + 128);
  unpack_q5_pair<3>(block, u + 192);
  subtract_zero<256, 0>(u, out.q);
  unpack_six_bit_scales(block.scales, f16_to_f32(block.d), f16_to_f32(block.dmin), out);
}

// 128 elements of 6 bits: four rows of 32, the lower nibbles of 64 bytes of ql, then the upper ones; two more bits from
// qh.
[[gnu::always_inline]] inline void unpack_q6_half(const uint8_t* __restrict ql, const uint8_t* __restrict qh,
                                                  uint8_t* __restrict u) {
  extract_bits<64, 0, 4>(ql, u);
  extract_bits<64, 4, 4>(ql, u + 64);
  insert_bits<32, 0, 2, 4>(qh, u);
  insert_bits<32, 2, 2, 4>(qh, u + 32);
  insert_bits<32, 4, 2, 4>(qh, u + 64);
  insert_bits<32, 6, 2, 4>(qh, u + 96);
}

[[gnu::always_inline]] inline void unpack_block(const BlockQ6_K& block, Unpacked& out) {
  uint8_t u[256];
  unpack_q6_half(block.ql, block.qh, u);
  unpack_q6_half(block.ql + 64, block.qh + 32, u + 128);
  subtract_zero<256, 32>(u, out.q);
  scale_by<16>(f16_to_f32(block.d), block.scales, out.ws);
}

}  // namespace
}  // namespace lockstep::quant
