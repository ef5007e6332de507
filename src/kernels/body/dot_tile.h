// A tile of the panel product, one block of k: every activation quad of every token against every line of weights.
#pragma once

#include "kernels/body/panel.h"
#include "kernels/body/token_cursor.h"

namespace lockstep::kernels {
namespace {

// Rows stream by for up to this many tokens where a pass over them takes four or more: the tile multiplies no faster.
inline constexpr int64_t kMostInManyPasses = kMostStreamed;

// The panel is used as it was unpacked.
template <typename P, int n_groups>
LOCKSTEP_INLINE void arrange_block(std::byte* /*panel*/, int /*group*/) {}

template <typename P, int n_groups, int n_tokens, int line>
LOCKSTEP_INLINE void tile_lines(const std::byte* panel, const int8_t* q, int64_t q_stride,
                                Dot<P::kBits> (&dot)[n_groups][n_tokens]) {
  Bytes w[n_groups];
  LOCKSTEP_UNROLL
  for (int g = 0; g < n_groups; ++g) w[g] = load_bytes(panel + (line * n_groups + g) * 64);
  LOCKSTEP_UNROLL
  for (int t = 0; t < n_tokens; ++t) {
    const Quad a = broadcast_quad(q + t * q_stride + 4 * line);
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_groups; ++g) add_dot<line>(dot[g][t], w[g], a);
  }
  if constexpr (line + 1 < P::kQuads) tile_lines<P, n_groups, n_tokens, line + 1>(panel, q, q_stride, dot);
}

// One block of k: acc continues.
template <typename P, int n_groups, int n_tokens>
LOCKSTEP_INLINE void tile_block(const std::byte* panel, const TokenCursor<n_tokens>& at,
                                Floats (&acc)[n_groups][n_tokens]) {
  Dot<P::kBits> dot[n_groups][n_tokens];
  LOCKSTEP_UNROLL
  for (int t = 0; t < n_tokens; ++t) {
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_groups; ++g) {
      if constexpr (P::kZero != 0) {
        dot[g][t] = start_dot<P::kBits>(at.start + t * at.correction_stride);
      } else {
        dot[g][t] = start_dot<P::kBits>();
      }
    }
  }
  tile_lines<P, n_groups, n_tokens, 0>(panel, at.q, at.q_stride, dot);
  const auto* scales = reinterpret_cast<const float*>(panel + P::kQuads * n_groups * 64);
  LOCKSTEP_UNROLL
  for (int g = 0; g < n_groups; ++g) {
    const Floats ws = load(scales + g * 16);
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) {
      const Ints sum = P::kZero != 0 ? finish_dot<P::kBits>(dot[g][t], at.start + t * at.correction_stride)
                                     : finish_dot<P::kBits>(dot[g][t]);
      acc[g][t] = fma(to_float(sum), ws * broadcast(at.scale + t * at.scale_stride), acc[g][t]);
      if constexpr (P::kHasMin) {
        acc[g][t] =
            fma(load(scales + (n_groups + g) * 16), broadcast(at.minimum + t * at.correction_stride), acc[g][t]);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::kernels
