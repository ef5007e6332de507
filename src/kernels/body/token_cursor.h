// The tokens' side of an int8 product: where a block of k of each token begins.
#pragma once

#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

// Per token and block of k what does not depend on the row: where the integer accumulator starts (-z * sum) and, for
// types with minima, scale * sum. Made once per job from the activations, in scratch memory.
struct Corrections {
  int32_t* start;  // [n_tokens, stride]
  float* minimum;  // [n_tokens, stride]
  int64_t stride;
};

// n_tokens tokens at a block of k.
template <int n_tokens>
struct TokenCursor {
  const int8_t* q;
  int64_t q_stride;
  const float* scale;
  int64_t scale_stride;
  const int32_t* start;
  const float* minimum;
  int64_t correction_stride;
};

template <typename F, int n_tokens>
LOCKSTEP_INLINE TokenCursor<n_tokens> cursor(const Activations& a, const Corrections& c, int64_t first) {
  return {a.q + first * a.q_stride,
          a.q_stride,
          a.scale + first * a.scale_stride,
          a.scale_stride,
          F::kZero != 0 ? c.start + first * c.stride : nullptr,
          F::kHasMin ? c.minimum + first * c.stride : nullptr,
          c.stride};
}

}  // namespace
}  // namespace lockstep::kernels
