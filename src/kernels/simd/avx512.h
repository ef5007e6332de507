// The logical vector of 64 bytes on AVX-512 with VNNI: one register. The comments here say what each operation means
// on every instruction set.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd/compiler.h"

namespace lockstep::kernels {
namespace {

inline constexpr const char* kIsaName = "avx512";
// Tile of the panel product: row groups of 16 x tokens, accumulators in registers.
inline constexpr int kTileGroups = 2;
inline constexpr int kTileTokens = 5;
// Tile of the fp32 product.
inline constexpr int kFloatTileGroups = 2;
inline constexpr int kFloatTileTokens = 10;
// Integer accumulators that the streaming product may keep in registers.
inline constexpr int kStreamAccumulators = 16;
// Attention: query heads and blocks of positions whose scores are made together, and vectors of a head's output.
inline constexpr int kHeadTile = 16;
inline constexpr int kScoreVectors = 16;
inline constexpr int kValueVectors = 16;
// 8-bit weights travel as unsigned bytes (q + z); false means q itself.
inline constexpr bool kSignedEight = false;

struct Bytes {
  __m512i v;
};
struct Ints {
  __m512i v;
};
struct Floats {
  __m512 v;
};

// Bytes: 16 rows x 4 elements of k.
// Loaded once however often it is used: compilers would rather read the line again as an operand of each use, which
// costs twice where lines of a unit cross lines of the cache.
LOCKSTEP_INLINE Bytes load_bytes(const void* p) {
  __m512i v = _mm512_loadu_si512(p);
  asm("" : "+v"(v));
  return {v};
}
LOCKSTEP_INLINE void store_bytes(void* p, Bytes a) {
  _mm512_storeu_si512(p, a.v);
}
LOCKSTEP_INLINE Bytes splat_byte(int x) {
  return {_mm512_set1_epi8(static_cast<char>(x))};
}
LOCKSTEP_INLINE Bytes operator&(Bytes a, Bytes b) {
  return {_mm512_and_si512(a.v, b.v)};
}
LOCKSTEP_INLINE Bytes operator^(Bytes a, Bytes b) {
  return {_mm512_xor_si512(a.v, b.v)};
}
// a | (b & mask)
LOCKSTEP_INLINE Bytes merge(Bytes a, Bytes b, Bytes mask) {
  return {_mm512_ternarylogic_epi32(a.v, b.v, mask.v, 0xF8)};
}
// Shifts whole dwords; bits that cross a byte are masked away by the caller. Negative n shifts left.
template <int n>
LOCKSTEP_INLINE Bytes shift_right(Bytes a) {
  if constexpr (n == 0) return a;
  if constexpr (n > 0) return {_mm512_srli_epi32(a.v, n)};
  return {_mm512_slli_epi32(a.v, n < 0 ? -n : 0)};
}

LOCKSTEP_INLINE Ints splat_int(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
LOCKSTEP_INLINE Ints add(Ints a, Ints b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
LOCKSTEP_INLINE Floats to_float(Ints a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
// Byte i of each dword.
template <int i>
LOCKSTEP_INLINE Ints unsigned_byte(Bytes a) {
  return {_mm512_and_si512(_mm512_srli_epi32(a.v, 8 * i), _mm512_set1_epi32(255))};
}
template <int i>
LOCKSTEP_INLINE Ints signed_byte(Bytes a) {
  return {_mm512_srai_epi32(_mm512_slli_epi32(a.v, 24 - 8 * i), 24)};
}

LOCKSTEP_INLINE Floats zero() {
  return {_mm512_setzero_ps()};
}
LOCKSTEP_INLINE Floats splat(float x) {
  return {_mm512_set1_ps(x)};
}
LOCKSTEP_INLINE Floats broadcast(const float* p) {
  return {_mm512_set1_ps(*p)};
}
LOCKSTEP_INLINE Floats load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
LOCKSTEP_INLINE void store(float* p, Floats a) {
  _mm512_storeu_ps(p, a.v);
}
LOCKSTEP_INLINE Floats load_f16(const void* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
LOCKSTEP_INLINE Floats load_int8(const int8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
}
LOCKSTEP_INLINE void store_f16(void* p, Floats a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
LOCKSTEP_INLINE Floats load_bf16(const void* p) {
  return {_mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p))), 16))};
}
LOCKSTEP_INLINE Floats operator+(Floats a, Floats b) {
  return {_mm512_add_ps(a.v, b.v)};
}
LOCKSTEP_INLINE Floats operator-(Floats a, Floats b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
LOCKSTEP_INLINE Floats operator*(Floats a, Floats b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
LOCKSTEP_INLINE Floats operator/(Floats a, Floats b) {
  return {_mm512_div_ps(a.v, b.v)};
}
LOCKSTEP_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
LOCKSTEP_INLINE Floats negate(Floats a) {
  return {_mm512_castsi512_ps(
      _mm512_xor_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(static_cast<int>(0x80000000u))))};
}
// a > b ? a : b, element by element (b where either is NaN, as the scalar definition).
LOCKSTEP_INLINE Floats larger(Floats a, Floats b) {
  return {_mm512_max_ps(a.v, b.v)};
}
LOCKSTEP_INLINE Floats smaller(Floats a, Floats b) {
  return {_mm512_min_ps(a.v, b.v)};
}
// x < limit ? 0 : a
LOCKSTEP_INLINE Floats zero_below(Floats a, Floats x, float limit) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x.v, _mm512_set1_ps(limit), _CMP_NLT_UQ), a.v)};
}
// a * 2^n by adding n, a whole number, to the exponent.
LOCKSTEP_INLINE Floats scale_by_power(Floats a, Floats n) {
  return {
      _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a.v), _mm512_slli_epi32(_mm512_cvtps_epi32(n.v), 23)))};
}
// The largest bit pattern of |a| among the lanes of a and b.
LOCKSTEP_INLINE uint32_t largest_magnitude(Floats a, Floats b) {
  const __m512i mask = _mm512_set1_epi32(0x7fffffff);
  const __m512i m = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(a.v), mask),
                                     _mm512_and_si512(_mm512_castps_si512(b.v), mask));
  __m256i h = _mm256_max_epu32(_mm512_castsi512_si256(m), _mm512_extracti64x4_epi64(m, 1));
  __m128i q = _mm_max_epu32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
  q = _mm_max_epu32(q, _mm_shuffle_epi32(q, 0x4e));
  q = _mm_max_epu32(q, _mm_shuffle_epi32(q, 0xb1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(q));
}
// 16 whole numbers within int8 as bytes; returns their sum.
LOCKSTEP_INLINE int32_t store_int8(int8_t* p, Floats a) {
  const __m512i n = _mm512_cvtps_epi32(a.v);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(n));
  const __m256i h = _mm256_add_epi32(_mm512_castsi512_si256(n), _mm512_extracti64x4_epi64(n, 1));
  __m128i q = _mm_add_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
  q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
  q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1));
  return _mm_cvtsi128_si32(q);
}
// The sum of 16 lanes by halving, i + 8, + 4, + 2, + 1: the end of the 64-lane tree.
LOCKSTEP_INLINE float fold(Floats a) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

// Four activations of one token, in every dword.
struct Quad {
  __m512i v;
};
LOCKSTEP_INLINE Quad broadcast_quad(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, 4);
  return {_mm512_set1_epi32(four)};
}

// The sum of products of one block of k, in the making. bits: of the weights as they travel; line: how manieth
// addition.
template <int bits>
struct Dot {
  __m512i v;
};
// `correction` = -z * sum of the block's activations, where the accumulator starts.
template <int bits>
LOCKSTEP_INLINE Dot<bits> start_dot(const int32_t* correction) {
  return {_mm512_set1_epi32(*correction)};
}
template <int bits>
LOCKSTEP_INLINE Dot<bits> start_dot() {
  return {_mm512_setzero_si512()};
}
template <int line, int bits>
LOCKSTEP_INLINE void add_dot(Dot<bits>& dot, Bytes w, Quad a) {
  dot.v = _mm512_dpbusd_epi32(dot.v, w.v, a.v);
}
template <int bits>
LOCKSTEP_INLINE Ints finish_dot(const Dot<bits>& dot, const int32_t* /*correction*/) {
  return {dot.v};
}
template <int bits>
LOCKSTEP_INLINE Ints finish_dot(const Dot<bits>& dot) {
  return {dot.v};
}
// Eight-bit weights from their signed bytes into the form that travels.
LOCKSTEP_INLINE Bytes travelling_eight(Bytes q) {
  return q ^ splat_byte(0x80);
}

LOCKSTEP_INLINE void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}
// Into the second-level cache only.
LOCKSTEP_INLINE void prefetch_far(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
}

}  // namespace
}  // namespace lockstep::kernels
