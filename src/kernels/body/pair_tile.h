// A tile of the panel product on CPUs that multiply two rows by two tokens, eight elements of k at a time: the same
// integers, tokens in pairs. Lines 2j and 2j + 1 of the panel are rearranged once, from 16 rows x 4 elements each to 8
// rows x 8 elements each.
#pragma once

#include "kernels/body/panel.h"
#include "kernels/body/token_cursor.h"

namespace lockstep::kernels {
namespace {

// As in dot_tile.h, but this tile multiplies twice as many elements with an instruction as a stream does.
inline constexpr int64_t kMostInManyPasses = 8;

// Rearranges a block of row group `group`, just unpacked.
template <typename P, int n_groups>
void arrange_block(std::byte* panel, int group) {
  for (int s = 0; s < P::kGroups; ++s) {
    for (int j = 0; j < P::kQuads; j += 2) {
      std::byte* even = panel + ((s * P::kLines + j) * n_groups + group) * 64;
      std::byte* odd = even + n_groups * 64;
      Bytes low = load_bytes(even);
      Bytes high = load_bytes(odd);
      interleave_dwords(low, high);
      store_bytes(even, low);
      store_bytes(odd, high);
    }
  }
}

// The tokens of pair p; an odd last token is its own partner.
template <int n_tokens>
struct PairOfTokens {
  int first, second;
  LOCKSTEP_INLINE explicit PairOfTokens(int p) : first(2 * p), second(2 * p + 1 < n_tokens ? 2 * p + 1 : 2 * p) {}
};

// Integer sums of one block of k.
template <typename P, int n_groups, int n_tokens>
LOCKSTEP_INLINE void pair_sums(const std::byte* panel, const TokenCursor<n_tokens>& at,
                               PairDot (&dot)[n_groups][(n_tokens + 1) / 2]) {
  constexpr int kPairs = (n_tokens + 1) / 2;
  LOCKSTEP_UNROLL
  for (int p = 0; p < kPairs; ++p) {
    const PairOfTokens<n_tokens> t(p);
    const int32_t* start = at.start;
    const int64_t stride = at.correction_stride;
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_groups; ++g) {
      dot[g][p] = P::kZero != 0 ? start_pair(start[t.first * stride], start[t.second * stride]) : start_pair(0, 0);
    }
  }
  LOCKSTEP_UNROLL
  for (int j = 0; j < P::kQuads; j += 2) {
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_groups; ++g) {
      const Bytes low = load_bytes(panel + (j * n_groups + g) * 64);
      const Bytes high = load_bytes(panel + ((j + 1) * n_groups + g) * 64);
      LOCKSTEP_UNROLL
      for (int p = 0; p < kPairs; ++p) {
        const PairOfTokens<n_tokens> t(p);
        add_pair(dot[g][p], low, high,
                 load_pair(at.q + t.first * at.q_stride + 4 * j, at.q + t.second * at.q_stride + 4 * j));
      }
    }
  }
}

// One block of k: acc continues.
template <typename P, int n_groups, int n_tokens>
LOCKSTEP_INLINE void tile_block(const std::byte* panel, const TokenCursor<n_tokens>& at,
                                Floats (&acc)[n_groups][n_tokens]) {
  PairDot dot[n_groups][(n_tokens + 1) / 2];
  pair_sums<P, n_groups, n_tokens>(panel, at, dot);
  const auto* scales = reinterpret_cast<const float*>(panel + P::kQuads * n_groups * 64);
  LOCKSTEP_UNROLL
  for (int g = 0; g < n_groups; ++g) {
    const Floats ws = load(scales + g * 16);
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) {
      const Ints sum = t % 2 == 0 ? first_of_pair(dot[g][t / 2]) : second_of_pair(dot[g][t / 2]);
      acc[g][t] = fma(to_float(sum), ws * broadcast(at.scale + t * at.scale_stride), acc[g][t]);
      if constexpr (P::kHasMin) {
        const Floats wm = load(scales + (n_groups + g) * 16);
        acc[g][t] = fma(wm, broadcast(at.minimum + t * at.correction_stride), acc[g][t]);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::kernels
