// Attention over a chunk of positions on vectors: scores with positions as lanes, values with elements of the head as lanes. The K and V
// of a KV head are read once for up to kHeadTile query heads. Defined by oracle/attention.h.
#pragma once

#include "kernels/body/vector_ops.h"
#include "kernels/oracle/oracle_attention.h"
#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

template <typename Element>
LOCKSTEP_INLINE Floats load_cached(const typename Element::Stored* p) {
  if constexpr (sizeof(typename Element::Stored) == 2) return load_f16(p);
  else return load(reinterpret_cast<const float*>(p));
}

// score[g][p0..] of n_heads heads and n_blocks blocks of 16 positions.
template <typename Element, int n_heads, int n_blocks>
LOCKSTEP_INLINE void score_blocks(const AttentionJob& job, const float* q, const typename Element::Stored* k, float (*score)[kChunk]) {
  Floats s[n_blocks][n_heads];
  for (int b = 0; b < n_blocks; ++b) {
    for (int g = 0; g < n_heads; ++g) s[b][g] = zero();
  }
  const int64_t block = job.head_dim * kPositionsPerBlock;
  for (int64_t i = 0; i < n_blocks * block; i += 64 / static_cast<int64_t>(sizeof(*k))) prefetch(k + n_blocks * block + i);
  for (int64_t d = 0; d < job.head_dim; ++d) {
    Floats key[n_blocks];
    LOCKSTEP_UNROLL
    for (int b = 0; b < n_blocks; ++b) key[b] = load_cached<Element>(k + b * block + d * kPositionsPerBlock);
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_heads; ++g) {
      const Floats query = broadcast(q + g * job.head_dim + d);
      LOCKSTEP_UNROLL
      for (int b = 0; b < n_blocks; ++b) s[b][g] = fma(query, key[b], s[b][g]);
    }
  }
  const Floats scale = splat(job.scale);
  for (int b = 0; b < n_blocks; ++b) {
    for (int g = 0; g < n_heads; ++g) store(score[g] + b * kPositionsPerBlock, s[b][g] * scale);
  }
}

template <typename Element, int n_heads>
LOCKSTEP_INLINE void all_scores(const AttentionJob& job, const float* q, float (*score)[kChunk]) {
  const auto* k = static_cast<const typename Element::Stored*>(job.k);
  const int64_t block = job.head_dim * kPositionsPerBlock;
  int64_t p = 0;
  for (; p + (kScoreBlocks - 1) * kPositionsPerBlock < job.n_positions; p += kScoreBlocks * kPositionsPerBlock, k += kScoreBlocks * block) {
    float(*at)[kChunk] = reinterpret_cast<float(*)[kChunk]>(score[0] + p);
    score_blocks<Element, n_heads, kScoreBlocks>(job, q, k, at);
  }
  for (; p < job.n_positions; p += kPositionsPerBlock, k += block) {
    float(*at)[kChunk] = reinterpret_cast<float(*)[kChunk]>(score[0] + p);
    score_blocks<Element, n_heads, 1>(job, q, k, at);
  }
}

// Scores become weights; positions from n on weigh nothing.
LOCKSTEP_INLINE AttentionPartial weights_of(float* score, int64_t n) {
  for (int64_t p = n; p < kChunk; ++p) score[p] = -__builtin_inff();
  Floats max = load(score);
  for (int64_t p = kLanes; p < kChunk; p += kLanes) max = larger(load(score + p), max);
  float lanes[kLanes];
  store(lanes, max);
  float top = lanes[0];
  for (int i = 1; i < kLanes; ++i) top = lanes[i] > top ? lanes[i] : top;
  top += 0.0f;
  Floats sum[4] = {zero(), zero(), zero(), zero()};
  for (int64_t p = 0; p < kChunk; p += kLanes) {
    const Floats w = exp_vector(load(score + p) - splat(top));
    store(score + p, w);
    Floats& lane = sum[p / kLanes % 4];
    lane = lane + w;
  }
  return {top, fold_four(sum)};
}

// o[g][d..] of n_vectors x 16 elements: a chain over the positions.
template <typename Element, int n_heads, int n_vectors>
LOCKSTEP_INLINE void value_slice(const AttentionJob& job, int64_t d, const float (*weight)[kChunk], float* o) {
  const auto* v = static_cast<const typename Element::Stored*>(job.v) + d;
  Floats acc[n_heads][n_vectors];
  for (int g = 0; g < n_heads; ++g) {
    for (int i = 0; i < n_vectors; ++i) acc[g][i] = zero();
  }
  for (int64_t p = 0; p < job.n_positions; ++p, v += job.head_dim) {
    Floats value[n_vectors];
    prefetch(v + 8 * job.head_dim);
    LOCKSTEP_UNROLL
    for (int i = 0; i < n_vectors; ++i) value[i] = load_cached<Element>(v + i * kLanes);
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_heads; ++g) {
      const Floats w = broadcast(weight[g] + p);
      LOCKSTEP_UNROLL
      for (int i = 0; i < n_vectors; ++i) acc[g][i] = fma(w, value[i], acc[g][i]);
    }
  }
  for (int g = 0; g < n_heads; ++g) {
    for (int i = 0; i < n_vectors; ++i) store(o + g * job.head_dim + d + i * kLanes, acc[g][i]);
  }
}

template <typename Element, int n_heads>
[[gnu::noinline]] void attend_heads(const AttentionJob& job, int64_t first, AttentionPartial* partial, float* o) {
  alignas(64) float score[n_heads][kChunk];
  all_scores<Element, n_heads>(job, job.q + first * job.head_dim, score);
  for (int g = 0; g < n_heads; ++g) partial[first + g] = weights_of(score[g], job.n_positions);
  constexpr int kWide = kValueVectors / n_heads >= 4 ? 4 : kValueVectors / n_heads >= 2 ? 2 : 1;
  int64_t d = 0;
  for (; d + kWide * kLanes <= job.head_dim; d += kWide * kLanes) value_slice<Element, n_heads, kWide>(job, d, score, o + first * job.head_dim);
  for (; d < job.head_dim; d += kLanes) value_slice<Element, n_heads, 1>(job, d, score, o + first * job.head_dim);
}

template <typename Element, int n_heads = kHeadTile>
LOCKSTEP_INLINE void attend_rest(const AttentionJob& job, int64_t first, AttentionPartial* partial, float* o) {
  if (job.n_group - first == n_heads) return attend_heads<Element, n_heads>(job, first, partial, o);
  if constexpr (n_heads > 1) attend_rest<Element, n_heads - 1>(job, first, partial, o);
}

template <typename Element>
void attend_chunk_vector(const AttentionJob& job, AttentionPartial* partial, float* o) noexcept {
  if (job.head_dim % kLanes != 0) return attend_chunk<Element>(job, partial, o);  // no model that is in use has such heads
  int64_t first = 0;
  for (; job.n_group - first > kHeadTile; first += kHeadTile) attend_heads<Element, kHeadTile>(job, first, partial, o);
  attend_rest<Element>(job, first, partial, o);
}

void merge_chunk_vector(AttentionPartial& total, float* acc, const AttentionPartial& part, const float* o, int64_t head_dim) noexcept {
  const float max = part.max > total.max ? part.max : total.max;
  const float a = exp_f32(total.max - max);
  const float b = exp_f32(part.max - max);
  total = {max, __builtin_fmaf(part.sum, b, total.sum * a)};
  for (int64_t d = 0; d < head_dim; d += kLanes) {
    store_some(acc + d, head_dim - d, fma(load_some(o + d, head_dim - d), splat(b), load_some(acc + d, head_dim - d) * splat(a)));
  }
}

void finish_attention_vector(const AttentionPartial& total, float* acc, int64_t head_dim) noexcept {
  const Floats sum = splat(total.sum);
  for (int64_t d = 0; d < head_dim; d += kLanes) store_some(acc + d, head_dim - d, load_some(acc + d, head_dim - d) / sum);
}

// A head of values into its row of the cache, 16 at a time.
void append_v_f16(void* v, int64_t position, const float* head, int64_t head_dim) noexcept {
  if (head_dim % kLanes != 0) return append_v<F16Element>(v, position, head, head_dim);
  auto* row = static_cast<uint16_t*>(v) + position * head_dim;
  for (int64_t d = 0; d < head_dim; d += kLanes) store_f16(row + d, load(head + d));
}

void append_k_f16(void* k, int64_t position, const float* head, int64_t head_dim) noexcept {
  if (head_dim % kLanes != 0) return append_k<F16Element>(k, position, head, head_dim);
  auto* lane = static_cast<uint16_t*>(k) + position / kPositionsPerBlock * head_dim * kPositionsPerBlock + position % kPositionsPerBlock;
  for (int64_t d = 0; d < head_dim; d += kLanes) {
    uint16_t halves[kLanes];
    store_f16(halves, load(head + d));
    for (int i = 0; i < kLanes; ++i) lane[(d + i) * kPositionsPerBlock] = halves[i];
  }
}

}  // namespace
}  // namespace lockstep::kernels
