// The logical vector of 64 bytes on AVX2: two registers (rows 0-7 and 8-15). With LOCKSTEP_AVX_VNNI defined, byte dot
// products come from AVX-VNNI, or, where the unit is compiled for it, from AVX-512 VNNI on the same registers; without,
// from pairs of 16-bit sums (NUMERICS.md section 4 has the bounds). See avx512.h for what each operation means.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd/compiler.h"

namespace lockstep::kernels {
namespace {

#if defined(LOCKSTEP_AVX_VNNI)
#if defined(__AVX512VNNI__)
inline constexpr const char* kIsaName = "avx512-ymm";
#else
inline constexpr const char* kIsaName = "avxvnni";
#endif
inline constexpr bool kSignedEight = false;
#else
inline constexpr const char* kIsaName = "avx2";
inline constexpr bool kSignedEight = true;
#endif
inline constexpr int kTileGroups = 1;
inline constexpr int kTileTokens = 4;
inline constexpr int kFloatTileGroups = 1;
inline constexpr int kFloatTileTokens = 6;
inline constexpr int kStreamAccumulators = 4;
inline constexpr int kHeadTile = 4;
inline constexpr int kScoreVectors = 4;
inline constexpr int kValueVectors = 4;

struct Bytes {
  __m256i lo, hi;
};
struct Ints {
  __m256i lo, hi;
};
struct Floats {
  __m256 lo, hi;
};

LOCKSTEP_INLINE Bytes load_bytes(const void* p) {
  const auto* q = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
LOCKSTEP_INLINE void store_bytes(void* p, Bytes a) {
  auto* q = static_cast<__m256i*>(p);
  _mm256_storeu_si256(q, a.lo);
  _mm256_storeu_si256(q + 1, a.hi);
}
LOCKSTEP_INLINE Bytes splat_byte(int x) {
  const __m256i v = _mm256_set1_epi8(static_cast<char>(x));
  return {v, v};
}
LOCKSTEP_INLINE Bytes operator&(Bytes a, Bytes b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
LOCKSTEP_INLINE Bytes operator^(Bytes a, Bytes b) {
  return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
}
LOCKSTEP_INLINE Bytes merge(Bytes a, Bytes b, Bytes mask) {
  return {_mm256_or_si256(a.lo, _mm256_and_si256(b.lo, mask.lo)),
          _mm256_or_si256(a.hi, _mm256_and_si256(b.hi, mask.hi))};
}
template <int n>
LOCKSTEP_INLINE Bytes shift_right(Bytes a) {
  if constexpr (n == 0) return a;
  if constexpr (n > 0) return {_mm256_srli_epi32(a.lo, n), _mm256_srli_epi32(a.hi, n)};
  constexpr int left = n < 0 ? -n : 0;
  return {_mm256_slli_epi32(a.lo, left), _mm256_slli_epi32(a.hi, left)};
}

LOCKSTEP_INLINE Ints splat_int(int32_t x) {
  const __m256i v = _mm256_set1_epi32(x);
  return {v, v};
}
LOCKSTEP_INLINE Ints add(Ints a, Ints b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
LOCKSTEP_INLINE Floats to_float(Ints a) {
  return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}
template <int i>
LOCKSTEP_INLINE Ints unsigned_byte(Bytes a) {
  const __m256i mask = _mm256_set1_epi32(255);
  return {_mm256_and_si256(_mm256_srli_epi32(a.lo, 8 * i), mask),
          _mm256_and_si256(_mm256_srli_epi32(a.hi, 8 * i), mask)};
}
template <int i>
LOCKSTEP_INLINE Ints signed_byte(Bytes a) {
  return {_mm256_srai_epi32(_mm256_slli_epi32(a.lo, 24 - 8 * i), 24),
          _mm256_srai_epi32(_mm256_slli_epi32(a.hi, 24 - 8 * i), 24)};
}

LOCKSTEP_INLINE Floats zero() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
LOCKSTEP_INLINE Floats splat(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
LOCKSTEP_INLINE Floats broadcast(const float* p) {
  const __m256 v = _mm256_broadcast_ss(p);
  return {v, v};
}
LOCKSTEP_INLINE Floats load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
LOCKSTEP_INLINE void store(float* p, Floats a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
LOCKSTEP_INLINE Floats load_f16(const void* p) {
  const auto* q = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
}
LOCKSTEP_INLINE Floats load_int8(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}
LOCKSTEP_INLINE void store_f16(void* p, Floats a) {
  auto* q = static_cast<__m128i*>(p);
  _mm_storeu_si128(q, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(q + 1, _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
}
LOCKSTEP_INLINE Floats load_bf16(const void* p) {
  const auto* q = static_cast<const __m128i*>(p);
  const auto widen = [](__m128i h) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16)); };
  return {widen(_mm_loadu_si128(q)), widen(_mm_loadu_si128(q + 1))};
}
LOCKSTEP_INLINE Floats operator+(Floats a, Floats b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
LOCKSTEP_INLINE Floats operator-(Floats a, Floats b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
LOCKSTEP_INLINE Floats operator*(Floats a, Floats b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
LOCKSTEP_INLINE Floats operator/(Floats a, Floats b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
LOCKSTEP_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
LOCKSTEP_INLINE Floats negate(Floats a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.lo, sign), _mm256_xor_ps(a.hi, sign)};
}
LOCKSTEP_INLINE Floats larger(Floats a, Floats b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
LOCKSTEP_INLINE Floats smaller(Floats a, Floats b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
LOCKSTEP_INLINE Floats zero_below(Floats a, Floats x, float limit) {
  const __m256 v = _mm256_set1_ps(limit);
  return {_mm256_and_ps(a.lo, _mm256_cmp_ps(x.lo, v, _CMP_NLT_UQ)),
          _mm256_and_ps(a.hi, _mm256_cmp_ps(x.hi, v, _CMP_NLT_UQ))};
}
LOCKSTEP_INLINE Floats scale_by_power(Floats a, Floats n) {
  const auto scale = [](__m256 v, __m256 e) {
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(v), _mm256_slli_epi32(_mm256_cvtps_epi32(e), 23)));
  };
  return {scale(a.lo, n.lo), scale(a.hi, n.hi)};
}
LOCKSTEP_INLINE uint32_t largest_magnitude(Floats a, Floats b) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  const auto magnitude = [mask](__m256 v) { return _mm256_and_si256(_mm256_castps_si256(v), mask); };
  const __m256i m = _mm256_max_epu32(_mm256_max_epu32(magnitude(a.lo), magnitude(a.hi)),
                                     _mm256_max_epu32(magnitude(b.lo), magnitude(b.hi)));
  __m128i q = _mm_max_epu32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
  q = _mm_max_epu32(q, _mm_shuffle_epi32(q, 0x4e));
  q = _mm_max_epu32(q, _mm_shuffle_epi32(q, 0xb1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(q));
}
LOCKSTEP_INLINE int32_t store_int8(int8_t* p, Floats a) {
  const __m256i lo = _mm256_cvtps_epi32(a.lo);
  const __m256i hi = _mm256_cvtps_epi32(a.hi);
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(lo, hi), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
  const __m256i sum = _mm256_add_epi32(lo, hi);
  __m128i q = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
  q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1));
  return _mm_cvtsi128_si32(q);
}
LOCKSTEP_INLINE float fold(Floats a) {
  const __m256 h = _mm256_add_ps(a.lo, a.hi);
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

struct Quad {
  __m256i v;
};
LOCKSTEP_INLINE Quad broadcast_quad(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, 4);
  return {_mm256_set1_epi32(four)};
}

#if defined(LOCKSTEP_AVX_VNNI)

template <int bits>
struct Dot {
  __m256i lo, hi;
};
template <int bits>
LOCKSTEP_INLINE Dot<bits> start_dot(const int32_t* correction) {
  const __m256i v = _mm256_set1_epi32(*correction);
  return {v, v};
}
template <int bits>
LOCKSTEP_INLINE Dot<bits> start_dot() {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
#if defined(__AVX512VNNI__)
LOCKSTEP_INLINE __m256i byte_products(__m256i sum, __m256i w, __m256i a) {
  return _mm256_dpbusd_epi32(sum, w, a);
}
#else
LOCKSTEP_INLINE __m256i byte_products(__m256i sum, __m256i w, __m256i a) {
  return _mm256_dpbusd_avx_epi32(sum, w, a);
}
#endif
template <int line, int bits>
LOCKSTEP_INLINE void add_dot(Dot<bits>& dot, Bytes w, Quad a) {
  dot.lo = byte_products(dot.lo, w.lo, a.v);
  dot.hi = byte_products(dot.hi, w.hi, a.v);
}
template <int bits>
LOCKSTEP_INLINE Ints finish_dot(const Dot<bits>& dot, const int32_t* /*correction*/) {
  return {dot.lo, dot.hi};
}
template <int bits>
LOCKSTEP_INLINE Ints finish_dot(const Dot<bits>& dot) {
  return {dot.lo, dot.hi};
}
LOCKSTEP_INLINE Bytes travelling_eight(Bytes q) {
  return q ^ splat_byte(0x80);
}

#else

// How many pair sums of |weight| < 2^bits with |activation| <= 127 may be added in 16 bits: 8 x 3810, 4 x 7874, 2 x
// 16002 < 32768.
template <int bits>
inline constexpr int kAdditions = bits == 4   ? 8
                                  : bits == 5 ? 4
                                  : bits == 6 ? 2
                                              : 1;

template <int bits>
struct Dot {
  __m256i lo, hi;              // 16-bit sums in the making
  __m256i total_lo, total_hi;  // 32-bit sums of those that were full
};
template <int bits>
LOCKSTEP_INLINE Dot<bits> start_dot() {
  const __m256i v = _mm256_setzero_si256();
  return {v, v, v, v};
}
template <int bits>
LOCKSTEP_INLINE Dot<bits> start_dot(const int32_t* /*correction*/) {
  return start_dot<bits>();
}
LOCKSTEP_INLINE __m256i pairs(__m256i sums) {
  return _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
}
// Weight bytes are unsigned below 8 bits. Signed bytes give their sign to the activation: |w| <= 128, |a| <= 127, and
// -128 x -127 stays positive.
template <int bits>
LOCKSTEP_INLINE __m256i pair_products(__m256i w, __m256i a) {
  if constexpr (bits == 8) return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w));
  return _mm256_maddubs_epi16(w, a);
}
template <int line, int bits>
LOCKSTEP_INLINE void add_dot(Dot<bits>& dot, Bytes w, Quad a) {
  const __m256i lo = pair_products<bits>(w.lo, a.v);
  const __m256i hi = pair_products<bits>(w.hi, a.v);
  if constexpr (line % kAdditions<bits> != 0) {
    dot.lo = _mm256_add_epi16(dot.lo, lo);
    dot.hi = _mm256_add_epi16(dot.hi, hi);
    return;
  }
  if constexpr (line > 0) {
    dot.total_lo = _mm256_add_epi32(dot.total_lo, pairs(dot.lo));
    dot.total_hi = _mm256_add_epi32(dot.total_hi, pairs(dot.hi));
  }
  dot.lo = lo;
  dot.hi = hi;
}
template <int bits>
LOCKSTEP_INLINE Ints finish_dot(const Dot<bits>& dot) {
  return {_mm256_add_epi32(dot.total_lo, pairs(dot.lo)), _mm256_add_epi32(dot.total_hi, pairs(dot.hi))};
}
template <int bits>
LOCKSTEP_INLINE Ints finish_dot(const Dot<bits>& dot, const int32_t* correction) {
  return add(finish_dot<bits>(dot), splat_int(*correction));
}
LOCKSTEP_INLINE Bytes travelling_eight(Bytes q) {
  return q;
}

#endif

LOCKSTEP_INLINE void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}
// Into the second-level cache only.
LOCKSTEP_INLINE void prefetch_far(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
}

}  // namespace
}  // namespace lockstep::kernels
