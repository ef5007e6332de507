// The scalar definition of everything in fp32 that is not a product: sums, exponential, norm, activation, rotation.
// NUMERICS.md section 3. Internal linkage throughout; see table.h for why.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

// Rounds to the nearest integer, ties to even, for |x| < 2^22: the addition pushes the fraction out of the mantissa.
inline float round_even(float x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
  return (x + kMagic) - kMagic;
}

// Sum over 64 virtual lanes (lane = index mod 64) by halving: the same tree for 4 registers of 16, 8 of 8, 16 of 4, or
// this loop.
inline float fold_lanes(float (&lane)[64]) {
  for (int width = 32; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

// x = n ln 2 + r with |r| <= ln2/2, and series(r), with which e^r = 1 + r + r^2 series(r): its Taylor polynomial of
// degree 7. ln 2 in two parts so that n * kLn2High is exact.
struct ExpParts {
  float n, r, series;

  // What 2^n adds to the bits of a float. NaN stays NaN.
  [[nodiscard]] uint32_t exponent_bits() const {
    const int32_t exponent = n == n ? static_cast<int32_t>(n) : 0;
    return static_cast<uint32_t>(exponent) << 23;
  }
};

inline ExpParts exp_parts(float x) {
  constexpr float kLog2E = 1.44269504088896341f;
  constexpr float kLn2High = 0.693359375f;
  constexpr float kLn2Low = -2.12194440e-4f;
  const float n = round_even(x * kLog2E);
  const float r = __builtin_fmaf(-n, kLn2Low, __builtin_fmaf(-n, kLn2High, x));
  float p = 1.98412698e-4f;
  p = __builtin_fmaf(p, r, 1.38888889e-3f);
  p = __builtin_fmaf(p, r, 8.33333333e-3f);
  p = __builtin_fmaf(p, r, 4.16666667e-2f);
  p = __builtin_fmaf(p, r, 1.66666667e-1f);
  p = __builtin_fmaf(p, r, 0.5f);
  return {n, r, p};
}

// e^x, relative error below 2e-7 on [-87.3, 88]; +0 below, the value at 88 above.
inline float exp_f32(float x) {
  const float below = x > 88.0f ? 88.0f : x;
  const float clamped =
      below < -88.0f ? -88.0f : below;  // what is lower becomes 0 at the end; here it must fit an integer
  const ExpParts e = exp_parts(clamped);
  const float power_of_r = __builtin_fmaf(__builtin_fmaf(e.series, e.r, 1.0f), e.r, 1.0f);
  const uint32_t bits = __builtin_bit_cast(uint32_t, power_of_r) + e.exponent_bits();
  return x < -87.3f ? 0.0f : __builtin_bit_cast(float, bits);
}

// x / (1 + e^-x)
inline float silu(float x) {
  return x / (1.0f + exp_f32(-x));
}

// tanh x, relative error below 4e-7, by e^(2x) - 1 = (2^n - 1) + 2^n (e^r - 1): near zero nothing cancels.
inline float tanh_f32(float x) {
  const float twice = x + x;
  const float below = twice > 20.0f ? 20.0f : twice;  // 1 from there on
  const float clamped = below < -20.0f ? -20.0f : below;
  const ExpParts e = exp_parts(clamped);
  const float r_less_one = __builtin_fmaf(e.series * e.r, e.r, e.r);
  const float power = __builtin_bit_cast(float, 0x3f800000u + e.exponent_bits());
  const float less_one = __builtin_fmaf(power, r_less_one, power - 1.0f);
  return less_one / (less_one + 2.0f);
}

// Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", by tanh; between -10 and 10 of x rounded to f16, and
// rounded to f16, as llama.cpp's table has it.
inline float gelu(float x) {
  const float large = x < 10.0f ? 0.0f : x;
  const float h = f16_to_f32(f32_to_f16(x - large));
  const float inner = __builtin_fmaf(0.044715f * h, h, 1.0f);
  const float bend = tanh_f32((0.797884560802865356f * h) * inner);
  const float between = f16_to_f32(f32_to_f16((0.5f * h) * (1.0f + bend)));
  return (x < -10.0f ? 0.0f : between) + large;
}

// Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"; eps inside the root.
[[maybe_unused]] void rms_norm(const float* x, const float* weight, int64_t n, float eps, float* out) noexcept {
  float lane[64] = {};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    for (int j = 0; j < 64; ++j) lane[j] = __builtin_fmaf(x[i + j], x[i + j], lane[j]);
  }
  for (int j = 0; i + j < n; ++j) lane[j] = __builtin_fmaf(x[i + j], x[i + j], lane[j]);
  const float mean = fold_lanes(lane) / static_cast<float>(n);
  const float scale = 1.0f / __builtin_sqrtf(mean + eps);
  for (int64_t k = 0; k < n; ++k) out[k] = (x[k] * scale) * weight[k];
}

[[maybe_unused]] void swiglu(const float* gate, const float* up, int64_t n, float* out) noexcept {
  for (int64_t i = 0; i < n; ++i) out[i] = silu(gate[i]) * up[i];
}

[[maybe_unused]] void geglu(const float* gate, const float* up, int64_t n, float* out) noexcept {
  for (int64_t i = 0; i < n; ++i) out[i] = gelu(gate[i]) * up[i];
}

// Gemma Team 2024, "Gemma 2": logits that stay between -cap and cap.
[[maybe_unused]] void softcap(float* x, int64_t n, float cap) noexcept {
  const float inverse = 1.0f / cap;
  for (int64_t i = 0; i < n; ++i) x[i] = tanh_f32(x[i] * inverse) * cap;
}

[[maybe_unused]] void add(float* x, const float* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) x[i] += y[i];
}

// Su et al. 2021, "RoFormer". Each product is rounded before the sum: the order of llama.cpp's rotation.
[[maybe_unused]] void rope(float* head, const float* cos_sin, int64_t n_rot, RopePairing pairing) noexcept {
  const bool adjacent = pairing == RopePairing::kAdjacent;
  const int64_t distance = adjacent ? 1 : n_rot / 2;
  for (int64_t i = 0; i < n_rot / 2; ++i) {
    float* pair = head + (adjacent ? 2 * i : i);
    const float c = cos_sin[2 * i];
    const float s = cos_sin[2 * i + 1];
    const float x0 = pair[0];
    const float x1 = pair[distance];
    pair[0] = x0 * c - x1 * s;
    pair[distance] = x0 * s + x1 * c;
  }
}

}  // namespace
}  // namespace lockstep::kernels
