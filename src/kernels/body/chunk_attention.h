// Attention over a chunk of positions on vectors: scores with positions as lanes, values with elements of the head as
// lanes. The K and V of a KV head are read once for up to kHeadTile query heads. Defined by oracle/oracle_attention.h.
#pragma once

#include "kernels/body/integer_product.h"
#include "kernels/body/vector_ops.h"
#include "kernels/oracle/oracle_attention.h"
#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

template <typename Element>
LOCKSTEP_INLINE Floats load_cached(const typename Element::Stored* p) {
  if constexpr (sizeof(typename Element::Stored) == 2)
    return load_f16(p);
  else
    return load(reinterpret_cast<const float*>(p));
}

// While keys are read, the values at the same offset of the chunk are fetched, and while values are read the next
// chunk's keys are: so the memory is never idle, and what is needed is there.
LOCKSTEP_INLINE void fetch_far(const void* from, int64_t offset, int64_t n_bytes) {
  const auto* bytes = static_cast<const std::byte*>(from) + offset;
  for (int64_t i = 0; i < n_bytes; i += 64) prefetch_far(bytes + i);
}

// How many of 4, 2 or 1 vectors for each of n_heads heads stay within `most`.
template <int n_heads>
constexpr int beside(int most) {
  return most / n_heads >= 4 ? 4 : most / n_heads >= 2 ? 2 : 1;
}

// Queries are copied to where their distance is a constant: then one register points to all of them. Not a power of
// two, so that they do not compete for the same lines of the cache.
constexpr int64_t kQueryStride = kMaxHeadDim + kLanes;

// score[g][p0..] of n_heads heads and n_blocks blocks of 16 positions that begin at element `first` of the chunk's
// keys.
template <typename Element, int n_heads, int n_blocks>
LOCKSTEP_INLINE void score_blocks(const AttentionJob& job, const float (*q)[kQueryStride], int64_t first,
                                  float (*score)[kChunk]) {
  using Stored = typename Element::Stored;
  constexpr int64_t kStepBytes = n_blocks * kPositionsPerBlock * static_cast<int64_t>(sizeof(Stored));
  Floats s[n_blocks][n_heads];
  for (int b = 0; b < n_blocks; ++b) {
    for (int g = 0; g < n_heads; ++g) s[b][g] = zero();
  }
  const int64_t block = job.head_dim * kPositionsPerBlock;
  const Stored* k = static_cast<const Stored*>(job.k) + first;
  const std::byte* k_ahead = reinterpret_cast<const std::byte*>(k + n_blocks * block);
  const int64_t offset = first * static_cast<int64_t>(sizeof(Stored));
  for (int64_t d = 0; d < job.head_dim; ++d) {
    prefetch(k_ahead + d * kStepBytes);
    fetch_far(job.v, offset + d * kStepBytes, kStepBytes);
    Floats key[n_blocks];
    LOCKSTEP_UNROLL
    for (int b = 0; b < n_blocks; ++b) key[b] = load_cached<Element>(k + b * block + d * kPositionsPerBlock);
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_heads; ++g) {
      const Floats query = broadcast(q[g] + d);
      LOCKSTEP_UNROLL
      for (int b = 0; b < n_blocks; ++b) s[b][g] = fma(query, key[b], s[b][g]);
    }
  }
  const Floats scale = splat(job.scale);
  for (int b = 0; b < n_blocks; ++b) {
    for (int g = 0; g < n_heads; ++g) store(score[g] + b * kPositionsPerBlock, s[b][g] * scale);
  }
}

// Of positions up to n_positions.
template <typename Element, int n_heads>
LOCKSTEP_INLINE void all_scores(const AttentionJob& job, const float* queries, int64_t n_positions,
                                float (*score)[kChunk]) {
  alignas(64) float q[n_heads][kQueryStride];
  for (int g = 0; g < n_heads; ++g) {
    for (int64_t d = 0; d < job.head_dim; d += kLanes) store(q[g] + d, load(queries + g * job.head_dim + d));
  }
  // More than two streams of keys at a time are slower from memory.
  constexpr int kScoreBlocks = beside<n_heads>(kScoreVectors) > 1 ? 2 : 1;
  int64_t p = job.first_position / kPositionsPerBlock * kPositionsPerBlock;
  for (; p + (kScoreBlocks - 1) * kPositionsPerBlock < n_positions; p += kScoreBlocks * kPositionsPerBlock) {
    float(*at)[kChunk] = reinterpret_cast<float(*)[kChunk]>(score[0] + p);
    score_blocks<Element, n_heads, kScoreBlocks>(job, q, p * job.head_dim, at);
  }
  for (; p < n_positions; p += kPositionsPerBlock) {
    float(*at)[kChunk] = reinterpret_cast<float(*)[kChunk]>(score[0] + p);
    score_blocks<Element, n_heads, 1>(job, q, p * job.head_dim, at);
  }
}

// The part of a chunk that holds what a head attends to, in whole steps of the sum of weights. Beyond it weights are 0
// and change no sum.
constexpr int64_t kSumStep = 4 * kLanes;
struct Part {
  int64_t first;
  int64_t n_positions;
  int64_t begin = first / kSumStep * kSumStep;
  int64_t end = (n_positions + kSumStep - 1) / kSumStep * kSumStep;
};

LOCKSTEP_INLINE Part part_of(const AttentionJob& job, int64_t head) {
  return {job.first_position, job.seen_by(head)};
}

// The largest of a head's scores; positions that are not attended to count as minus infinity from here on.
LOCKSTEP_INLINE float largest_score(const Part& part, float* score) {
  for (int64_t p = part.begin; p < part.first; ++p) score[p] = -__builtin_inff();
  for (int64_t p = part.n_positions; p < part.end; ++p) score[p] = -__builtin_inff();
  Floats max = load(score + part.begin);
  for (int64_t p = part.begin + kLanes; p < part.end; p += kLanes) max = larger(load(score + p), max);
  float lanes[kLanes];
  store(lanes, max);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = lanes[i + half] > lanes[i] ? lanes[i + half] : lanes[i];
  }
  return lanes[0] + 0.0f;
}

// Scores become weights, e^(score - top); returns their sum.
LOCKSTEP_INLINE float weights_of(const Part& part, float* score, float top) {
  Floats sum[4] = {zero(), zero(), zero(), zero()};
  for (int64_t p = part.begin; p < part.end; p += kSumStep) {
    LOCKSTEP_UNROLL
    for (int i = 0; i < 4; ++i) {
      const Floats w = exp_vector(load(score + p + i * kLanes) - splat(top));
      store(score + p + i * kLanes, w);
      sum[i] = sum[i] + w;
    }
  }
  return fold_four(sum);
}

// Where 16 values from element d of position p on come from.
template <typename Element>
struct PlainValues {
  const typename Element::Stored* v;
  int64_t head_dim;

  explicit PlainValues(const AttentionJob& job)
      : v(static_cast<const typename Element::Stored*>(job.v)), head_dim(job.head_dim) {}
  LOCKSTEP_INLINE Floats at(int64_t p, int64_t d) const { return load_cached<Element>(v + p * head_dim + d); }
  LOCKSTEP_INLINE int64_t offset(int64_t p, int64_t d) const {
    return (p * head_dim + d) * static_cast<int64_t>(sizeof(*v));
  }
};

struct QuantizedValues {
  const int8_t* v;
  int64_t n_groups;
  float scale[kChunk * kMaxHeadDim / kScaleGroup];  // [position][group], in fp32 once for all heads

  explicit QuantizedValues(const AttentionJob& job)
      : v(static_cast<const int8_t*>(job.v)), n_groups(job.head_dim / kScaleGroup) {
    for (int64_t i = job.first_position * n_groups; i < job.seen_by_any() * n_groups; ++i) {
      uint16_t half;
      __builtin_memcpy(&half, v + i * (kScaleGroup + 2), 2);
      scale[i] = f16_to_f32(half);
    }
  }
  LOCKSTEP_INLINE int64_t offset(int64_t p, int64_t d) const {
    return (p * n_groups + d / kScaleGroup) * (kScaleGroup + 2) + 2 + d % kScaleGroup;
  }
  LOCKSTEP_INLINE Floats at(int64_t p, int64_t d) const {
    return broadcast(scale + p * n_groups + d / kScaleGroup) * load_int8(v + offset(p, d));
  }
};

// o[g][d..] of n_vectors x 16 elements: a chain over positions begin to end-1, or its continuation.
template <typename Values, int n_heads, int n_vectors>
LOCKSTEP_INLINE void value_slice(const AttentionJob& job, const Values& values, int64_t begin, int64_t end, int64_t d,
                                 bool go_on, const float (*weight)[kChunk], float* o) {
  Floats acc[n_heads][n_vectors];
  for (int g = 0; g < n_heads; ++g) {
    for (int i = 0; i < n_vectors; ++i) acc[g][i] = go_on ? load(o + g * job.head_dim + d + i * kLanes) : zero();
  }
  const std::byte* next = static_cast<const std::byte*>(job.next_k);
  for (int64_t p = begin; p < end; ++p) {
    Floats value[n_vectors];
    prefetch(static_cast<const std::byte*>(job.v) + values.offset(p + 8, d));
    if (next != nullptr) prefetch_far(next + values.offset(p, d));
    LOCKSTEP_UNROLL
    for (int i = 0; i < n_vectors; ++i) value[i] = values.at(p, d + i * kLanes);
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

template <typename Values, int n_heads>
LOCKSTEP_INLINE void sum_values(const AttentionJob& job, const Values& values, int64_t begin, int64_t end, bool go_on,
                                const float (*weight)[kChunk], float* o) {
  constexpr int kWide = beside<n_heads>(kValueVectors);
  int64_t d = 0;
  for (; d + kWide * kLanes <= job.head_dim; d += kWide * kLanes)
    value_slice<Values, n_heads, kWide>(job, values, begin, end, d, go_on, weight, o);
  for (; d < job.head_dim; d += kLanes) value_slice<Values, n_heads, 1>(job, values, begin, end, d, go_on, weight, o);
}

// Scores of n_heads heads from `first` on become weights, and weights and values the result.
template <typename Values, int n_heads>
LOCKSTEP_INLINE void weigh_values(const AttentionJob& job, const Values& values, int64_t first, float (*score)[kChunk],
                                  AttentionPartial* partial, float* o) {
  for (int g = 0; g < n_heads; ++g) {
    const Part part = part_of(job, first + g);
    if (job.softcap != 0.0f) softcap_vector(score[g] + part.first, part.n_positions - part.first, job.softcap);
    partial[first + g].max = largest_score(part, score[g]);
  }
  for (int g = 0; g < n_heads; ++g)
    partial[first + g].sum = weights_of(part_of(job, first + g), score[g], partial[first + g].max);
  // What all see, and then what later tokens see beyond.
  o += first * job.head_dim;
  const int64_t common = job.seen_by(first);
  sum_values<Values, n_heads>(job, values, job.first_position, common, false, score, o);
  for (int g = 0; g < n_heads; ++g) {
    if (const int64_t end = job.seen_by(first + g); end > common)
      sum_values<Values, 1>(job, values, common, end, true, score + g, o + g * job.head_dim);
  }
}

template <typename Element>
struct PlainHeads {
  static constexpr int kMostHeads = kHeadTile;
  const AttentionJob& job;
  PlainValues<Element> values;

  template <int n_heads>
  [[gnu::noinline]] void attend(int64_t first, AttentionPartial* partial, float* o) const {
    alignas(64) float score[n_heads][kChunk];
    all_scores<Element, n_heads>(job, job.q + first * job.head_dim, job.seen_by(first + n_heads - 1), score);
    weigh_values<PlainValues<Element>, n_heads>(job, values, first, score, partial, o);
  }
};

// The scores of quantized keys are a product of compute mode fast: positions are the rows of a Q8_0 matrix, query heads
// the tokens.
struct QuantizedHeads {
  static constexpr int kMostHeads = kHeadTile;
  static_assert(kMostHeads <= most_streamed<TensorType::kQ8_0>(), "so that no panel is needed");
  const AttentionJob& job;
  QuantizedValues values;
  bool finite;
  alignas(64) int8_t q[kMaxGroup * kMaxHeadDim];
  float scale[kMaxGroup * kMaxHeadDim / kScaleGroup];
  int32_t sum[kMaxGroup * kMaxHeadDim / kSumGroup];

  explicit QuantizedHeads(const AttentionJob& j)
      : job(j), values(j), finite(quantize_vector(j.q, j.n_group * j.head_dim, q, scale, sum)) {}

  template <int n_heads>
  [[gnu::noinline]] void attend(int64_t first, AttentionPartial* partial, float* o) const {
    alignas(64) float score[n_heads][kChunk];
    alignas(64) std::byte scratch[n_heads * (kMaxHeadDim / kScaleGroup + 16) * 4 + 64];
    const int64_t d = job.head_dim;
    const int64_t n_positions = job.seen_by(first + n_heads - 1);
    const uint64_t row_bytes = static_cast<uint64_t>(d / kScaleGroup * (kScaleGroup + 2));
    const Activations heads = {nullptr,
                               0,
                               q + first * d,
                               d,
                               scale + first * d / kScaleGroup,
                               d / kScaleGroup,
                               sum + first * d / kSumGroup,
                               d / kSumGroup,
                               n_heads};
    linear_fast<TensorType::kQ8_0>({{static_cast<const std::byte*>(job.k), row_bytes, kChunk, d},
                                    job.first_position / kPositionsPerBlock * kPositionsPerBlock,
                                    (n_positions + 15) / 16 * 16,
                                    heads,
                                    score[0],
                                    kChunk,
                                    false,
                                    scratch});
    const Floats factor = splat(finite ? job.scale : __builtin_nanf(""));
    for (int g = 0; g < n_heads; ++g) {
      for (int64_t p = job.first_position / kLanes * kLanes; p < n_positions; p += kLanes)
        store(score[g] + p, load(score[g] + p) * factor);
    }
    weigh_values<QuantizedValues, n_heads>(job, values, first, score, partial, o);
  }
};

template <typename Heads, int n_heads = Heads::kMostHeads>
LOCKSTEP_INLINE void attend_rest(const Heads& heads, int64_t first, AttentionPartial* partial, float* o) {
  if (heads.job.n_group - first == n_heads) return heads.template attend<n_heads>(first, partial, o);
  if constexpr (n_heads > 1) attend_rest<Heads, n_heads - 1>(heads, first, partial, o);
}

template <typename Heads>
LOCKSTEP_INLINE void attend_all(const Heads& heads, AttentionPartial* partial, float* o) {
  int64_t first = 0;
  constexpr int kMost = Heads::kMostHeads;
  for (; heads.job.n_group - first > kMost; first += kMost) heads.template attend<kMost>(first, partial, o);
  attend_rest(heads, first, partial, o);
}

template <typename Element>
void attend_chunk_vector(const AttentionJob& job, AttentionPartial* partial, float* o) noexcept {
  if (job.head_dim % kLanes != 0)
    return attend_chunk<Element>(job, partial, o);  // no model that is in use has such heads
  attend_all(PlainHeads<Element>{job, PlainValues<Element>(job)}, partial, o);
}

void attend_chunk_q8_vector(const AttentionJob& job, AttentionPartial* partial, float* o) noexcept {
  attend_all(QuantizedHeads(job), partial, o);
}

void merge_chunk_vector(AttentionPartial& total, float* acc, const AttentionPartial& part, const float* o,
                        int64_t head_dim) noexcept {
  const bool above = part.max > total.max;
  const float max = above ? part.max : total.max;
  // One of the two is e^0.
  const float less = exp_f32((above ? total.max : part.max) - max);
  const float a = above ? less : 1.0f;
  const float b = above ? 1.0f : less;
  total = {max, __builtin_fmaf(part.sum, b, total.sum * a)};
  for (int64_t d = 0; d < head_dim; d += kLanes) {
    store_some(acc + d, head_dim - d,
               fma(load_some(o + d, head_dim - d), splat(b), load_some(acc + d, head_dim - d) * splat(a)));
  }
}

void finish_attention_vector(const AttentionPartial& total, float* acc, int64_t head_dim) noexcept {
  const Floats sum = splat(total.sum);
  for (int64_t d = 0; d < head_dim; d += kLanes)
    store_some(acc + d, head_dim - d, load_some(acc + d, head_dim - d) / sum);
}

// A head of values into its row of the cache, 16 at a time.
void append_v_f16(void* v, int64_t position, const float* head, int64_t head_dim) noexcept {
  if (head_dim % kLanes != 0) return append_v<F16Element>(v, position, head, head_dim);
  auto* row = static_cast<uint16_t*>(v) + position * head_dim;
  for (int64_t d = 0; d < head_dim; d += kLanes) store_f16(row + d, load(head + d));
}

void append_k_f16(void* k, int64_t position, const float* head, int64_t head_dim) noexcept {
  if (head_dim % kLanes != 0) return append_k<F16Element>(k, position, head, head_dim);
  auto* lane = static_cast<uint16_t*>(k) + position / kPositionsPerBlock * head_dim * kPositionsPerBlock +
               position % kPositionsPerBlock;
  for (int64_t d = 0; d < head_dim; d += kLanes) {
    uint16_t halves[kLanes];
    store_f16(halves, load(head + d));
    for (int i = 0; i < kLanes; ++i) lane[(d + i) * kPositionsPerBlock] = halves[i];
  }
}

}  // namespace
}  // namespace lockstep::kernels
