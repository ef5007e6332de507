// Norm, activation and quantization of activations on vectors: the same operations, element by element and in the same
// tree of sums, as oracle/float_math.h and oracle/oracle_quantize.h define.
#pragma once

#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

inline constexpr int kLanes = 16;

// Up to 16 floats, the rest of the lanes zero.
LOCKSTEP_INLINE Floats load_some(const float* x, int64_t n) {
  if (n >= kLanes) return load(x);
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = x[i];
  return load(lanes);
}

LOCKSTEP_INLINE void store_some(float* x, int64_t n, Floats a) {
  if (n >= kLanes) return store(x, a);
  float lanes[kLanes];
  store(lanes, a);
  for (int64_t i = 0; i < n; ++i) x[i] = lanes[i];
}

struct VectorExpParts {
  Floats n, r, series;
};

LOCKSTEP_INLINE VectorExpParts exp_parts_vector(Floats x) {
  const Floats magic = splat(12582912.0f);
  const Floats n = (x * splat(1.44269504088896341f) + magic) - magic;
  const Floats minus_n = negate(n);
  const Floats r = fma(minus_n, splat(-2.12194440e-4f), fma(minus_n, splat(0.693359375f), x));
  Floats p = splat(1.98412698e-4f);
  p = fma(p, r, splat(1.38888889e-3f));
  p = fma(p, r, splat(8.33333333e-3f));
  p = fma(p, r, splat(4.16666667e-2f));
  p = fma(p, r, splat(1.66666667e-1f));
  p = fma(p, r, splat(0.5f));
  return {n, r, p};
}

LOCKSTEP_INLINE Floats exp_vector(Floats x) {
  const Floats clamped = smaller(splat(88.0f), x);
  const VectorExpParts e = exp_parts_vector(clamped);
  const Floats power_of_r = fma(fma(e.series, e.r, splat(1.0f)), e.r, splat(1.0f));
  return zero_below(scale_by_power(power_of_r, e.n), x, -87.3f);
}

LOCKSTEP_INLINE Floats tanh_vector(Floats x) {
  const Floats clamped = larger(splat(-20.0f), smaller(splat(20.0f), x + x));
  const VectorExpParts e = exp_parts_vector(clamped);
  const Floats r_less_one = fma(e.series * e.r, e.r, e.r);
  const Floats power = scale_by_power(splat(1.0f), e.n);
  const Floats less_one = fma(power, r_less_one, power - splat(1.0f));
  return less_one / (less_one + splat(2.0f));
}

LOCKSTEP_INLINE Floats round_to_f16(Floats x) {
  uint16_t halves[kLanes];
  store_f16(halves, x);
  return load_f16(halves);
}

LOCKSTEP_INLINE Floats gelu_vector(Floats x) {
  const Floats large = zero_below(x, x, 10.0f);
  const Floats h = round_to_f16(x - large);
  const Floats inner = fma(splat(0.044715f) * h, h, splat(1.0f));
  const Floats bend = tanh_vector((splat(0.797884560802865356f) * h) * inner);
  const Floats between = round_to_f16((splat(0.5f) * h) * (splat(1.0f) + bend));
  return zero_below(between, x, -10.0f) + large;
}

// The end of a sum over 64 lanes that are held in four vectors.
LOCKSTEP_INLINE float fold_four(const Floats (&lane)[4]) {
  return fold((lane[0] + lane[2]) + (lane[1] + lane[3]));
}

void rms_norm_vector(const float* x, const float* weight, int64_t n, float eps, float* out) noexcept {
  Floats lane[4] = {zero(), zero(), zero(), zero()};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    LOCKSTEP_UNROLL
    for (int j = 0; j < 4; ++j) {
      const Floats v = load(x + i + j * kLanes);
      lane[j] = fma(v, v, lane[j]);
    }
  }
  for (int j = 0; i < n; i += kLanes, ++j) {
    const Floats v = load_some(x + i, n - i);
    lane[j] = fma(v, v, lane[j]);
  }
  const float mean = fold_four(lane) / static_cast<float>(n);
  const Floats scale = splat(1.0f / __builtin_sqrtf(mean + eps));
  for (int64_t k = 0; k < n; k += kLanes)
    store_some(out + k, n - k, (load_some(x + k, n - k) * scale) * load_some(weight + k, n - k));
}

void swiglu_vector(const float* gate, const float* up, int64_t n, float* out) noexcept {
  const Floats one = splat(1.0f);
  for (int64_t i = 0; i < n; i += kLanes) {
    const Floats g = load_some(gate + i, n - i);
    store_some(out + i, n - i, (g / (one + exp_vector(negate(g)))) * load_some(up + i, n - i));
  }
}

void geglu_vector(const float* gate, const float* up, int64_t n, float* out) noexcept {
  for (int64_t i = 0; i < n; i += kLanes)
    store_some(out + i, n - i, gelu_vector(load_some(gate + i, n - i)) * load_some(up + i, n - i));
}

void softcap_vector(float* x, int64_t n, float cap) noexcept {
  const Floats inverse = splat(1.0f / cap);
  for (int64_t i = 0; i < n; i += kLanes)
    store_some(x + i, n - i, tanh_vector(load_some(x + i, n - i) * inverse) * splat(cap));
}

void add_vector(float* x, const float* y, int64_t n) noexcept {
  for (int64_t i = 0; i < n; i += kLanes) store_some(x + i, n - i, load_some(x + i, n - i) + load_some(y + i, n - i));
}

bool quantize_vector(const float* x, int64_t n, int8_t* q, float* scale, int32_t* sum) noexcept {
  bool finite = true;
  for (int64_t g = 0; g < n / kScaleGroup; ++g, x += kScaleGroup, q += kScaleGroup, sum += 2) {
    Floats a = load(x);
    Floats b = load(x + kLanes);
    const uint32_t magnitude = largest_magnitude(a, b);
    const float amax = __builtin_bit_cast(float, magnitude);
    finite = finite && magnitude < 0x7f800000u;
    if (magnitude >= 0x7f800000u || amax < 1e-30f) {
      a = zero();
      b = zero();
      scale[g] = 0.0f;
    } else {
      const Floats inverse = splat(127.0f / amax);
      a = a * inverse;
      b = b * inverse;
      scale[g] = amax / 127.0f;
    }
    sum[0] = store_int8(q, larger(splat(-127.0f), smaller(splat(127.0f), a)));
    sum[1] = store_int8(q + kLanes, larger(splat(-127.0f), smaller(splat(127.0f), b)));
  }
  return finite;
}

}  // namespace
}  // namespace lockstep::kernels
