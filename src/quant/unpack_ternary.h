// TQ1_0, TQ2_0 and MXFP4 in the one form: tiny integers under one plain scale. See unpack.h.
#pragma once

#include "quant/unpack_form.h"

namespace lockstep::quant {
namespace {

// The byte is a fraction of 256 in base 3: shifting it left by `power` = 3^i digits and dropping the whole part leaves
// digit i in front; that digit minus one is the element.
template <int n, int power>
[[gnu::always_inline]] inline void extract_trits(const uint8_t* __restrict bytes, int8_t* __restrict q) {
  for (int i = 0; i < n; ++i) {
    const auto fraction = static_cast<uint8_t>(bytes[i] * power);
    q[i] = static_cast<int8_t>(((fraction * 3) >> 8) - 1);
  }
}

// Five rows of n elements from n bytes.
template <int n>
[[gnu::always_inline]] inline void extract_five_trits(const uint8_t* __restrict bytes, int8_t* __restrict q) {
  extract_trits<n, 1>(bytes, q);
  extract_trits<n, 3>(bytes, q + n);
  extract_trits<n, 9>(bytes, q + 2 * n);
  extract_trits<n, 27>(bytes, q + 3 * n);
  extract_trits<n, 81>(bytes, q + 4 * n);
}

[[gnu::always_inline]] inline void unpack_block(const BlockTQ1_0& block, Unpacked& out) {
  extract_five_trits<32>(block.qs, out.q);
  extract_five_trits<16>(block.qs + 32, out.q + 160);
  extract_trits<4, 1>(block.qh, out.q + 240);
  extract_trits<4, 3>(block.qh, out.q + 244);
  extract_trits<4, 9>(block.qh, out.q + 248);
  extract_trits<4, 27>(block.qh, out.q + 252);
  fill<8>(f16_to_f32(block.d), out.ws);
}

[[gnu::always_inline]] inline void unpack_block(const BlockTQ2_0& block, Unpacked& out) {
  uint8_t u[256];
  for (int half = 0; half < 2; ++half) {
    extract_bits<32, 0, 2>(block.qs + 32 * half, u + 128 * half);
    extract_bits<32, 2, 2>(block.qs + 32 * half, u + 128 * half + 32);
    extract_bits<32, 4, 2>(block.qs + 32 * half, u + 128 * half + 64);
    extract_bits<32, 6, 2>(block.qs + 32 * half, u + 128 * half + 96);
  }
  subtract_zero<256, 1>(u, out.q);
  fill<8>(f16_to_f32(block.d), out.ws);
}

// 2^(e - 128) for every e: half of what E8M0 says, because the integers are doubled. e = 255, NaN in the OCP
// specification, is 2^127 here as in ggml; e = 0 and 1 give subnormals.
[[gnu::always_inline]] inline float mxfp4_scale(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23;
  return __builtin_bit_cast(float, bits);
}

// Twice the E2M1 number of the low 3 bits (0 1 2 3 4 6 8 12) with the sign of bit 3. Steps of one up to 4, then of two,
// and another two to the last.
[[gnu::always_inline]] inline Bytes16 doubled_e2m1(Bytes16 codes) {
  const Bytes16 m = codes & 7;
  const Bytes16 above_4 = reinterpret_cast<Bytes16>(m > 4);
  const Bytes16 above_6 = reinterpret_cast<Bytes16>(m > 6);
  const Bytes16 negative = reinterpret_cast<Bytes16>(codes > 7);
  const Bytes16 magnitude = m + (above_4 & (m - 4)) + (above_6 & 2);
  return (magnitude ^ negative) - negative;
}

[[gnu::always_inline]] inline void unpack_block(const BlockMXFP4& block, Unpacked& out) {
  const Bytes16 nibbles = load_16(block.qs);
  store_16(doubled_e2m1(nibbles & 15), out.q);
  store_16(doubled_e2m1(nibbles >> 4), out.q + 16);
  out.ws[0] = mxfp4_scale(block.e);
}

}  // namespace
}  // namespace lockstep::quant
