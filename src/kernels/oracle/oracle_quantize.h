// The scalar definition of the quantization of activations (NUMERICS.md section 2).
#pragma once

#include <cstdint>

#include "kernels/oracle/float_math.h"
#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

// Activations of 32 elements share scale = amax / 127; q is rounded to nearest even and never -128, which the bounds of
// the integer products rest on. amax is an integer maximum of bit patterns: floating-point maxima differ between CPUs
// on NaN.
[[maybe_unused]] bool quantize(const float* x, int64_t n, int8_t* q, float* scale, int32_t* sum) noexcept {
  bool finite = true;
  for (int64_t g = 0; g < n / kScaleGroup; ++g, x += kScaleGroup, q += kScaleGroup, sum += kScaleGroup / kSumGroup) {
    uint32_t magnitude = 0;
    for (int i = 0; i < kScaleGroup; ++i) {
      const uint32_t bits = __builtin_bit_cast(uint32_t, x[i]) & 0x7fffffffu;
      magnitude = bits > magnitude ? bits : magnitude;
    }
    const float amax = __builtin_bit_cast(float, magnitude);
    const bool usable = magnitude < 0x7f800000u && amax >= 1e-30f;
    finite = finite && magnitude < 0x7f800000u;
    scale[g] = usable ? amax / 127.0f : 0.0f;
    const float inverse = usable ? 127.0f / amax : 0.0f;
    for (int i = 0; i < kScaleGroup; ++i) {
      const float value = usable ? round_even(x[i] * inverse) : 0.0f;
      q[i] = static_cast<int8_t>(value > 127.0f ? 127.0f : value < -127.0f ? -127.0f : value);
    }
    for (int half = 0; half < kScaleGroup / kSumGroup; ++half) {
      int32_t total = 0;
      for (int i = 0; i < kSumGroup; ++i) total += q[half * kSumGroup + i];
      sum[half] = total;
    }
  }
  return finite;
}

}  // namespace
}  // namespace lockstep::kernels
