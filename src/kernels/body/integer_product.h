// The int8 products of compute mode fast (NUMERICS.md section 2), on any instruction set: the streaming product for one
// or a few tokens, straight from the packed rows, and the panel product for many.
#pragma once

#include "kernels/body/panel.h"
#include "kernels/body/token_cursor.h"
#include "kernels/body/unit_format.h"
#include "kernels/table.h"
#if defined(LOCKSTEP_TOKEN_PAIRS)
#include "kernels/body/pair_tile.h"
#else
#include "kernels/body/dot_tile.h"
#endif

namespace lockstep::kernels {
namespace {

template <int group, int zero_point, bool has_min>
Corrections make_corrections(const Activations& a, int64_t n_cols, std::byte*& scratch) {
  const int64_t n = n_cols / group;
  const int64_t stride = (n + 15) / 16 * 16;
  Corrections c = {nullptr, nullptr, stride};
  if constexpr (zero_point != 0) {
    c.start = reinterpret_cast<int32_t*>(scratch);
    scratch += a.n_tokens * stride * 4;
  }
  if constexpr (has_min) {
    c.minimum = reinterpret_cast<float*>(scratch);
    scratch += a.n_tokens * stride * 4;
  }
  for (int64_t t = 0; t < a.n_tokens; ++t) {
    for (int64_t b = 0; b < n; ++b) {
      const int32_t* s = a.sum + t * a.sum_stride + b * (group / kSumGroup);
      const int32_t sum = group == 32 ? s[0] + s[1] : s[0];
      if constexpr (zero_point != 0) c.start[t * stride + b] = -zero_point * sum;
      if constexpr (has_min)
        c.minimum[t * stride + b] = a.scale[t * a.scale_stride + b * group / kScaleGroup] * static_cast<float>(sum);
    }
  }
  return c;
}

// The end of a matrix whose rows do not fill a group.
[[gnu::noinline]] inline void store_last_rows(float* out, int64_t n, bool add, Floats value) {
  float lanes[kRowsPerGroup];
  store(lanes, value);
  for (int64_t i = 0; i < n; ++i) out[i] = add ? out[i] + lanes[i] : lanes[i];
}

// Stores one vector of outputs: 16 rows of one token, of which those below row_end exist.
LOCKSTEP_INLINE void store_rows(const LinearJob& job, int64_t token, int64_t row, Floats value) {
  float* out = job.out + token * job.out_stride + row;
  const int64_t n = job.row_end - row;
  if (n < kRowsPerGroup) return store_last_rows(out, n, job.add, value);
  store(out, job.add ? load(out) + value : value);
}

// ---- streaming ----

// One or two tokens' products are over before the CPU has looked as far ahead as memory is slow; those of more are not,
// and then it has to be told: into the second-level cache, since the first has too few requests under way. This is the
// share of bundle i in the lines of a unit, kFetchAhead bytes on.
inline constexpr int kFetchedAheadFrom = 3;
inline constexpr int kFetchAhead = 6144;
template <typename F, int i>
LOCKSTEP_INLINE void fetch_ahead(const std::byte* unit) {
  constexpr int kLines = (F::kUnitBytes + 63) / 64;
  constexpr int kBundles = F::kStages * F::kBundles;
  LOCKSTEP_UNROLL
  for (int line = kLines * i / kBundles; line < kLines * (i + 1) / kBundles; ++line)
    prefetch_far(unit + kFetchAhead + 64 * line);
}

template <typename F, int n_tokens, int stage, int bundle>
LOCKSTEP_INLINE void stream_bundle(const std::byte* unit, const TokenCursor<n_tokens>& at,
                                   Dot<F::kBits> (&dot)[F::kSubs][n_tokens]) {
  constexpr int kPerSub = F::kBundles * F::kOuts / F::kSubs;
  if constexpr (n_tokens >= kFetchedAheadFrom) fetch_ahead<F, stage * F::kBundles + bundle>(unit);
  Bytes w[F::kOuts];
  F::template load<stage, bundle>(unit, w);
  const int8_t* q = at.q + stage * F::kSubs * F::kGroup;
  LOCKSTEP_UNROLL
  for (int o = 0; o < F::kOuts; ++o) {
    // How manieth addition this is to its sub-block's accumulator, at most: a bound is all that narrow CPUs need.
    constexpr int line = F::kSubs == 1 ? bundle * F::kOuts : bundle % kPerSub;
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) {
      const Quad a = broadcast_quad(q + t * at.q_stride + F::sub(bundle, o) * F::kGroup + 4 * F::quad(bundle, o));
      if (F::kSubs == 1 && o == 1) {
        add_dot<line + 1>(dot[F::sub(bundle, o)][t], w[o], a);
      } else {
        add_dot<line>(dot[F::sub(bundle, o)][t], w[o], a);
      }
    }
  }
  if constexpr (bundle + 1 < F::kBundles) stream_bundle<F, n_tokens, stage, bundle + 1>(unit, at, dot);
}

template <typename F, int n_tokens, int stage>
LOCKSTEP_INLINE void stream_stage(const std::byte* unit, const float* buffer, const TokenCursor<n_tokens>& at,
                                  Floats (&acc)[n_tokens]) {
  Dot<F::kBits> dot[F::kSubs][n_tokens];
  LOCKSTEP_UNROLL
  for (int s = 0; s < F::kSubs; ++s) {
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) {
      if constexpr (F::kZero != 0) {
        dot[s][t] = start_dot<F::kBits>(at.start + t * at.correction_stride + stage * F::kSubs + s);
      } else {
        dot[s][t] = start_dot<F::kBits>();
      }
    }
  }
  stream_bundle<F, n_tokens, stage, 0>(unit, at, dot);
  LOCKSTEP_UNROLL
  for (int s = 0; s < F::kSubs; ++s) {
    const int sub = stage * F::kSubs + s;
    const Floats ws = F::ws(unit, buffer, sub);
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) {
      const Ints sum = F::kZero != 0 ? finish_dot<F::kBits>(dot[s][t], at.start + t * at.correction_stride + sub)
                                     : finish_dot<F::kBits>(dot[s][t]);
      acc[t] =
          fma(to_float(sum), ws * broadcast(at.scale + t * at.scale_stride + sub * F::kGroup / kScaleGroup), acc[t]);
      if constexpr (F::kHasMin)
        acc[t] = fma(F::wm(unit, buffer, sub), broadcast(at.minimum + t * at.correction_stride + sub), acc[t]);
    }
  }
  if constexpr (stage + 1 < F::kStages) stream_stage<F, n_tokens, stage + 1>(unit, buffer, at, acc);
}

// The group of rows from `row` on. Its bytes are touched once, strictly from front to back: CPUs recognise that and
// fetch ahead by themselves, better than explicit prefetches do (docs/performance.md). With tokens [first, first +
// n_tokens).
template <typename F, int n_tokens>
[[gnu::noinline]] void stream(const LinearJob& job, const Corrections& c, int64_t row, int64_t first) {
  const int64_t n_blocks = job.w.n_cols / F::kBlock;
  const std::byte* unit = job.w.data + static_cast<uint64_t>(row) * job.w.row_bytes;
  TokenCursor<n_tokens> at = cursor<F, n_tokens>(job.a, c, first);
  Floats acc[n_tokens];
  LOCKSTEP_UNROLL
  for (int t = 0; t < n_tokens; ++t) acc[t] = zero();
  for (int64_t b = 0; b < n_blocks; ++b) {
    alignas(64) float buffer[2 * 16 * kRowsPerGroup];
    F::prepare(unit, buffer);
    stream_stage<F, n_tokens, 0>(unit, buffer, at, acc);
    unit += F::kUnitBytes;
    at.q += F::kBlock;
    at.scale += F::kBlock / kScaleGroup;
    if constexpr (F::kZero != 0) at.start += F::kBlock / F::kGroup;
    if constexpr (F::kHasMin) at.minimum += F::kBlock / F::kGroup;
  }
  LOCKSTEP_UNROLL
  for (int t = 0; t < n_tokens; ++t) store_rows(job, first + t, row, acc[t]);
}

// Tokens of one pass over a group of rows: 1, 2, 4 or 8, as many as the registers hold.
template <typename F>
constexpr int tokens_per_pass() {
  constexpr int kMost = kStreamAccumulators / F::kSubs;
  return kMost >= 8 ? 8 : kMost >= 4 ? 4 : kMost >= 2 ? 2 : 1;
}

// Passes after the first find the rows in the cache, but unpack them again: where a pass takes four tokens or more,
// many passes may still cost less than a panel; where it takes fewer, a second one already costs more.
template <TensorType type>
constexpr int64_t most_streamed() {
  if constexpr (!kStreams<type>)
    return 0;
  else
    return tokens_per_pass<Format<type>>() >= 4 ? kMostInManyPasses : tokens_per_pass<Format<type>>();
}

// The group of rows from `row` on, with all tokens.
template <typename F>
void stream_tokens(const LinearJob& job, const Corrections& c, int64_t row) {
  constexpr int kMost = tokens_per_pass<F>();
  int64_t t = 0;
  if constexpr (kMost >= 8) {
    for (; job.a.n_tokens - t >= 8; t += 8) stream<F, 8>(job, c, row, t);
  }
  if constexpr (kMost >= 4) {
    for (; job.a.n_tokens - t >= 4; t += 4) stream<F, 4>(job, c, row, t);
  }
  if constexpr (kMost >= 2) {
    for (; job.a.n_tokens - t >= 2; t += 2) stream<F, 2>(job, c, row, t);
  }
  for (; t < job.a.n_tokens; ++t) stream<F, 1>(job, c, row, t);
}

// ---- panel ----

// All blocks of the panel for n_tokens tokens; n_groups x 16 rows from `row` on.
template <typename P, int n_groups, int n_tokens>
[[gnu::noinline]] void tile(const LinearJob& job, const Corrections& c, const std::byte* panel, int64_t row,
                            int64_t first, RowsAhead& ahead) {
  TokenCursor<n_tokens> at = cursor<P, n_tokens>(job.a, c, first);
  Floats acc[n_groups][n_tokens];
  LOCKSTEP_UNROLL
  for (int g = 0; g < n_groups; ++g) {
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) acc[g][t] = zero();
  }
  const int64_t n_blocks = job.w.n_cols / P::kGroup;
  constexpr int kPerScale = kScaleGroup / P::kGroup;
  for (int64_t b = 0; b < n_blocks; b += kPerScale) {
    LOCKSTEP_UNROLL
    for (int half = 0; half < kPerScale; ++half) {
      tile_block<P, n_groups, n_tokens>(panel, at, acc);
      panel += P::kLines * n_groups * 64;
      at.q += P::kGroup;
      if constexpr (P::kZero != 0) at.start += 1;
      if constexpr (P::kHasMin) at.minimum += 1;
    }
    at.scale += 1;
    ahead.fetch_some();
  }
  LOCKSTEP_UNROLL
  for (int g = 0; g < n_groups; ++g) {
    if (row + g * kRowsPerGroup >= job.row_end) return;
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) store_rows(job, first + t, row + g * kRowsPerGroup, acc[g][t]);
  }
}

template <typename P, int n_groups>
void tile_rest(const LinearJob& job, const Corrections& c, const std::byte* panel, int64_t row, int64_t first,
               int64_t n, RowsAhead& ahead) {
  switch (n) {
    case 1:
      return tile<P, n_groups, 1>(job, c, panel, row, first, ahead);
    case 2:
      return tile<P, n_groups, 2>(job, c, panel, row, first, ahead);
    case 3:
      return tile<P, n_groups, 3>(job, c, panel, row, first, ahead);
    case 4:
      return tile<P, n_groups, 4>(job, c, panel, row, first, ahead);
    default:
      return;
  }
}

template <TensorType type, int n_groups>
void panel_rows(const LinearJob& job, const Corrections& c, std::byte* panel, int64_t row) {
  using P = PanelForm<type>;
  static_assert(kTileTokens <= 5);
  const int64_t n_blocks = job.w.n_cols / P::kBlock;
  for (int64_t b = 0; b < n_blocks; ++b) {
    std::byte* block = panel + b * P::kGroups * P::kLines * n_groups * 64;
    for (int g = 0; g < n_groups; ++g) {
      const int64_t first = row + g * kRowsPerGroup;
      if (first < job.row_end) {
        unpack_block<type, n_groups>(job.w.data + static_cast<uint64_t>(first) * job.w.row_bytes, b, job.w.row_bytes,
                                     block, g);
        arrange_block<P, n_groups>(block, g);
      }
    }
  }
  const int64_t n_tiles = (job.a.n_tokens + kTileTokens - 1) / kTileTokens;
  RowsAhead ahead(job, row + n_groups * kRowsPerGroup, n_groups * kRowsPerGroup,
                  n_tiles * (job.w.n_cols / kScaleGroup));
  int64_t t = 0;
  for (; t + kTileTokens <= job.a.n_tokens; t += kTileTokens)
    tile<P, n_groups, kTileTokens>(job, c, panel, row, t, ahead);
  tile_rest<P, n_groups>(job, c, panel, row, t, job.a.n_tokens - t, ahead);
}

// ---- the product of a type ----

template <TensorType type>
void linear_fast(const LinearJob& job) noexcept {
  using P = PanelForm<type>;
  std::byte* scratch = job.scratch;
  const Corrections c = make_corrections<P::kGroup, P::kZero, P::kHasMin>(job.a, job.w.n_cols, scratch);
  if constexpr (kStreams<type>) {
    if (job.a.n_tokens <= most_streamed<type>()) {
      for (int64_t row = job.row_begin; row < job.row_end; row += kRowsPerGroup)
        stream_tokens<Format<type>>(job, c, row);
      return;
    }
  }
  for (int64_t row = job.row_begin; row < job.row_end; row += kTileGroups * kRowsPerGroup)
    panel_rows<type, kTileGroups>(job, c, scratch, row);
}

}  // namespace
}  // namespace lockstep::kernels
