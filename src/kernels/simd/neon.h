// The logical vector of 64 bytes on AArch64 Advanced SIMD: four registers (rows 0-3, 4-7, 8-11, 12-15). With
// LOCKSTEP_DOTPROD defined, byte dot products come from SDOT; without, from widening products and pairwise sums; with
// LOCKSTEP_TOKEN_PAIRS too, the panel product comes from SMMLA. Weights are signed bytes: those below 8 bits are small
// non-negative numbers, so they are as well. See avx512.h for what each operation means.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd/compiler.h"

namespace lockstep::kernels {
namespace {

#if defined(LOCKSTEP_TOKEN_PAIRS)
inline constexpr const char* kIsaName = "neon-i8mm";
inline constexpr int kTileTokens = 4;
#elif defined(LOCKSTEP_DOTPROD)
inline constexpr const char* kIsaName = "neon-dotprod";
// 32 registers: 3 tokens take 12 integer and 12 fp32 accumulators, 4 of weights and one of activations.
inline constexpr int kTileTokens = 3;
#else
inline constexpr const char* kIsaName = "neon-base";
inline constexpr int kTileTokens = 3;
#endif
inline constexpr bool kSignedEight = true;
inline constexpr int kTileGroups = 1;
inline constexpr int kFloatTileGroups = 1;
inline constexpr int kFloatTileTokens = 6;
inline constexpr int kStreamAccumulators = 4;
inline constexpr int kHeadTile = 4;
inline constexpr int kScoreVectors = 4;
inline constexpr int kValueVectors = 4;

// Four named members, not an array: g++ keeps those in registers.
struct Bytes {
  uint8x16_t a, b, c, d;
};
struct Ints {
  int32x4_t a, b, c, d;
};
struct Floats {
  float32x4_t a, b, c, d;
};

// op on each of the four registers of one, two or three operands.
template <typename Out, typename Op, typename... In>
LOCKSTEP_INLINE Out each(Op op, const In&... in) {
  return {op(in.a...), op(in.b...), op(in.c...), op(in.d...)};
}

LOCKSTEP_INLINE Bytes load_bytes(const void* p) {
  const auto* q = static_cast<const uint8_t*>(p);
  return {vld1q_u8(q), vld1q_u8(q + 16), vld1q_u8(q + 32), vld1q_u8(q + 48)};
}
LOCKSTEP_INLINE void store_bytes(void* p, Bytes x) {
  auto* q = static_cast<uint8_t*>(p);
  vst1q_u8(q, x.a);
  vst1q_u8(q + 16, x.b);
  vst1q_u8(q + 32, x.c);
  vst1q_u8(q + 48, x.d);
}
LOCKSTEP_INLINE Bytes splat_byte(int x) {
  const uint8x16_t v = vdupq_n_u8(static_cast<uint8_t>(x));
  return {v, v, v, v};
}
LOCKSTEP_INLINE Bytes operator&(Bytes x, Bytes y) {
  return each<Bytes>([](uint8x16_t v, uint8x16_t w) { return vandq_u8(v, w); }, x, y);
}
LOCKSTEP_INLINE Bytes merge(Bytes x, Bytes y, Bytes mask) {
  return each<Bytes>([](uint8x16_t v, uint8x16_t w, uint8x16_t m) { return vorrq_u8(v, vandq_u8(w, m)); }, x, y, mask);
}
// Within bytes: the bits that a shift of dwords would bring across are masked away by the caller.
template <int n>
LOCKSTEP_INLINE Bytes shift_right(Bytes x) {
  if constexpr (n == 0) {
    return x;
  } else if constexpr (n > 0) {
    return each<Bytes>([](uint8x16_t v) { return vshrq_n_u8(v, n); }, x);
  } else {
    return each<Bytes>([](uint8x16_t v) { return vshlq_n_u8(v, -n); }, x);
  }
}

LOCKSTEP_INLINE Ints splat_int(int32_t x) {
  const int32x4_t v = vdupq_n_s32(x);
  return {v, v, v, v};
}
LOCKSTEP_INLINE Ints add(Ints x, Ints y) {
  return each<Ints>([](int32x4_t v, int32x4_t w) { return vaddq_s32(v, w); }, x, y);
}
LOCKSTEP_INLINE Floats to_float(Ints x) {
  return each<Floats>([](int32x4_t v) { return vcvtq_f32_s32(v); }, x);
}
template <int i>
LOCKSTEP_INLINE Ints unsigned_byte(Bytes x) {
  return each<Ints>(
      [](uint8x16_t v) {
        const uint32x4_t at_top = vshlq_n_u32(vreinterpretq_u32_u8(v), 24 - 8 * i);
        return vreinterpretq_s32_u32(vshrq_n_u32(at_top, 24));
      },
      x);
}
template <int i>
LOCKSTEP_INLINE Ints signed_byte(Bytes x) {
  return each<Ints>([](uint8x16_t v) { return vshrq_n_s32(vshlq_n_s32(vreinterpretq_s32_u8(v), 24 - 8 * i), 24); }, x);
}

LOCKSTEP_INLINE Floats splat(float x) {
  const float32x4_t v = vdupq_n_f32(x);
  return {v, v, v, v};
}
LOCKSTEP_INLINE Floats zero() {
  return splat(0.0f);
}
LOCKSTEP_INLINE Floats broadcast(const float* p) {
  const float32x4_t v = vld1q_dup_f32(p);
  return {v, v, v, v};
}
LOCKSTEP_INLINE Floats load(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
LOCKSTEP_INLINE void store(float* p, Floats x) {
  vst1q_f32(p, x.a);
  vst1q_f32(p + 4, x.b);
  vst1q_f32(p + 8, x.c);
  vst1q_f32(p + 12, x.d);
}
LOCKSTEP_INLINE uint16x8_t load_halves(const void* p) {
  return vreinterpretq_u16_u8(vld1q_u8(static_cast<const uint8_t*>(p)));
}
LOCKSTEP_INLINE Floats load_f16(const void* p) {
  const float16x8_t low = vreinterpretq_f16_u16(load_halves(p));
  const float16x8_t high = vreinterpretq_f16_u16(load_halves(static_cast<const uint8_t*>(p) + 16));
  return {vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low), vcvt_f32_f16(vget_low_f16(high)),
          vcvt_high_f32_f16(high)};
}
LOCKSTEP_INLINE Floats load_int8(const int8_t* p) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_high_s8(bytes);
  return to_float(
      {vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)});
}
LOCKSTEP_INLINE void store_f16(void* p, Floats x) {
  auto* q = static_cast<uint8_t*>(p);
  vst1q_u8(q, vreinterpretq_u8_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.a), x.b)));
  vst1q_u8(q + 16, vreinterpretq_u8_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.c), x.d)));
}
LOCKSTEP_INLINE Floats load_bf16(const void* p) {
  const uint16x8_t low = load_halves(p);
  const uint16x8_t high = load_halves(static_cast<const uint8_t*>(p) + 16);
  return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(low), 16)), vreinterpretq_f32_u32(vshll_high_n_u16(low, 16)),
          vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(high), 16)),
          vreinterpretq_f32_u32(vshll_high_n_u16(high, 16))};
}
LOCKSTEP_INLINE Floats operator+(Floats x, Floats y) {
  return each<Floats>([](float32x4_t v, float32x4_t w) { return vaddq_f32(v, w); }, x, y);
}
LOCKSTEP_INLINE Floats operator-(Floats x, Floats y) {
  return each<Floats>([](float32x4_t v, float32x4_t w) { return vsubq_f32(v, w); }, x, y);
}
LOCKSTEP_INLINE Floats operator*(Floats x, Floats y) {
  return each<Floats>([](float32x4_t v, float32x4_t w) { return vmulq_f32(v, w); }, x, y);
}
LOCKSTEP_INLINE Floats operator/(Floats x, Floats y) {
  return each<Floats>([](float32x4_t v, float32x4_t w) { return vdivq_f32(v, w); }, x, y);
}
// Fused: vfmaq, never vmlaq, which rounds the product.
LOCKSTEP_INLINE Floats fma(Floats x, Floats y, Floats z) {
  return each<Floats>([](float32x4_t v, float32x4_t w, float32x4_t sum) { return vfmaq_f32(sum, v, w); }, x, y, z);
}
LOCKSTEP_INLINE Floats negate(Floats x) {
  return each<Floats>([](float32x4_t v) { return vnegq_f32(v); }, x);
}
// By comparison and selection: FMAX and FMIN order zeros and pass NaN on, unlike `a > b ? a : b`.
LOCKSTEP_INLINE Floats larger(Floats x, Floats y) {
  return each<Floats>([](float32x4_t v, float32x4_t w) { return vbslq_f32(vcgtq_f32(v, w), v, w); }, x, y);
}
LOCKSTEP_INLINE Floats smaller(Floats x, Floats y) {
  return each<Floats>([](float32x4_t v, float32x4_t w) { return vbslq_f32(vcltq_f32(v, w), v, w); }, x, y);
}
LOCKSTEP_INLINE Floats zero_below(Floats x, Floats y, float limit) {
  const float32x4_t l = vdupq_n_f32(limit);
  return each<Floats>(
      [l](float32x4_t v, float32x4_t w) {
        return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), vcltq_f32(w, l)));
      },
      x, y);
}
LOCKSTEP_INLINE Floats scale_by_power(Floats x, Floats n) {
  return each<Floats>(
      [](float32x4_t v, float32x4_t e) {
        return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(v), vshlq_n_s32(vcvtnq_s32_f32(e), 23)));
      },
      x, n);
}
// Horizontal integer maxima and sums are exact in any order.
LOCKSTEP_INLINE uint32_t largest_magnitude(Floats x, Floats y) {
  const auto magnitude = [](float32x4_t v) { return vandq_u32(vreinterpretq_u32_f32(v), vdupq_n_u32(0x7fffffffu)); };
  const auto largest = [magnitude](Floats v) {
    return vmaxq_u32(vmaxq_u32(magnitude(v.a), magnitude(v.b)), vmaxq_u32(magnitude(v.c), magnitude(v.d)));
  };
  return vmaxvq_u32(vmaxq_u32(largest(x), largest(y)));
}
LOCKSTEP_INLINE int32_t store_int8(int8_t* p, Floats x) {
  const Ints n = each<Ints>([](float32x4_t v) { return vcvtnq_s32_f32(v); }, x);
  const int16x8_t low = vcombine_s16(vmovn_s32(n.a), vmovn_s32(n.b));
  const int16x8_t high = vcombine_s16(vmovn_s32(n.c), vmovn_s32(n.d));
  vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
  return vaddvq_s32(vaddq_s32(vaddq_s32(n.a, n.b), vaddq_s32(n.c, n.d)));
}
// Lanes i + 8, then + 4, + 2, + 1.
LOCKSTEP_INLINE float fold(Floats x) {
  const float32x4_t four = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

struct Quad {
  int8x16_t v;
};
LOCKSTEP_INLINE Quad broadcast_quad(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, 4);
  return {vreinterpretq_s8_s32(vdupq_n_s32(four))};
}

// sum + the products of the four bytes of each dword.
LOCKSTEP_INLINE int32x4_t dot_bytes(int32x4_t sum, uint8x16_t w, int8x16_t a) {
  const int8x16_t q = vreinterpretq_s8_u8(w);
#if defined(LOCKSTEP_DOTPROD)
  return vdotq_s32(sum, q, a);
#else
  // A sum of two products is at most 2 * 128 * 127 = 32512.
  return vpadalq_s16(sum, vpaddq_s16(vmull_s8(vget_low_s8(q), vget_low_s8(a)), vmull_high_s8(q, a)));
#endif
}

template <int bits>
struct Dot {
  Ints sum;
};
template <int bits>
LOCKSTEP_INLINE Dot<bits> start_dot(const int32_t* correction) {
  return {splat_int(*correction)};
}
template <int bits>
LOCKSTEP_INLINE Dot<bits> start_dot() {
  return {splat_int(0)};
}
template <int line, int bits>
LOCKSTEP_INLINE void add_dot(Dot<bits>& dot, Bytes w, Quad a) {
  dot.sum = each<Ints>([a](int32x4_t sum, uint8x16_t v) { return dot_bytes(sum, v, a.v); }, dot.sum, w);
}
template <int bits>
LOCKSTEP_INLINE Ints finish_dot(const Dot<bits>& dot, const int32_t* /*correction*/) {
  return dot.sum;
}
template <int bits>
LOCKSTEP_INLINE Ints finish_dot(const Dot<bits>& dot) {
  return dot.sum;
}

#if defined(LOCKSTEP_TOKEN_PAIRS)

// Two tokens' eight activations each.
struct TokenPair {
  int8x16_t v;
};
LOCKSTEP_INLINE TokenPair load_pair(const int8_t* first, const int8_t* second) {
  return {vcombine_s8(vld1_s8(first), vld1_s8(second))};
}
// Two lines of 16 rows x 4 elements become rows 0-7 and rows 8-15, of 8 elements each.
LOCKSTEP_INLINE void interleave_dwords(Bytes& x, Bytes& y) {
  const auto low = [](uint8x16_t v, uint8x16_t w) {
    return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(v), vreinterpretq_u32_u8(w)));
  };
  const auto high = [](uint8x16_t v, uint8x16_t w) {
    return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(v), vreinterpretq_u32_u8(w)));
  };
  const Bytes first = {low(x.a, y.a), high(x.a, y.a), low(x.b, y.b), high(x.b, y.b)};
  y = {low(x.c, y.c), high(x.c, y.c), low(x.d, y.d), high(x.d, y.d)};
  x = first;
}

// Sums of 16 rows x 2 tokens; a register holds two rows: row 0 of the first and second token, row 1 of the first and
// second.
struct PairDot {
  Ints low, high;  // rows 0-7, rows 8-15
};
LOCKSTEP_INLINE PairDot start_pair(int32_t first, int32_t second) {
  const int32x2_t both = vset_lane_s32(second, vdup_n_s32(first), 1);
  const int32x4_t v = vcombine_s32(both, both);
  return {{v, v, v, v}, {v, v, v, v}};
}
LOCKSTEP_INLINE void add_pair(PairDot& dot, Bytes low, Bytes high, TokenPair a) {
  const auto multiply = [a](int32x4_t sum, uint8x16_t w) { return vmmlaq_s32(sum, vreinterpretq_s8_u8(w), a.v); };
  dot.low = each<Ints>(multiply, dot.low, low);
  dot.high = each<Ints>(multiply, dot.high, high);
}
LOCKSTEP_INLINE Ints first_of_pair(const PairDot& dot) {
  return {vuzp1q_s32(dot.low.a, dot.low.b), vuzp1q_s32(dot.low.c, dot.low.d), vuzp1q_s32(dot.high.a, dot.high.b),
          vuzp1q_s32(dot.high.c, dot.high.d)};
}
LOCKSTEP_INLINE Ints second_of_pair(const PairDot& dot) {
  return {vuzp2q_s32(dot.low.a, dot.low.b), vuzp2q_s32(dot.low.c, dot.low.d), vuzp2q_s32(dot.high.a, dot.high.b),
          vuzp2q_s32(dot.high.c, dot.high.d)};
}

#endif

LOCKSTEP_INLINE Bytes travelling_eight(Bytes q) {
  return q;
}

LOCKSTEP_INLINE void prefetch(const void* p) {
  __builtin_prefetch(p);
}
LOCKSTEP_INLINE void prefetch_far(const void* p) {
  __builtin_prefetch(p, 0, 2);
}

}  // namespace
}  // namespace lockstep::kernels
