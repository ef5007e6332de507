// The scalar definition of attention over one chunk of positions and of the merging of chunks (NUMERICS.md section 3).
#pragma once

#include <cstdint>

#include "base/half.h"
#include "kernels/oracle/float_math.h"
#include "kernels/oracle/oracle_quantize.h"
#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

struct F16Element {
  using Stored = uint16_t;
  static float load(uint16_t value) { return f16_to_f32(value); }
  static uint16_t store(float value) { return f32_to_f16(value); }
};

struct F32Element {
  using Stored = float;
  static float load(float value) { return value; }
  static float store(float value) { return value; }
};

template <typename Element>
void append_k(void* k, int64_t position, const float* head, int64_t head_dim) noexcept {
  auto* block =
      static_cast<typename Element::Stored*>(k) + position / kPositionsPerBlock * head_dim * kPositionsPerBlock;
  const int64_t lane = position % kPositionsPerBlock;
  for (int64_t d = 0; d < head_dim; ++d) block[d * kPositionsPerBlock + lane] = Element::store(head[d]);
}

template <typename Element>
void append_v(void* v, int64_t position, const float* head, int64_t head_dim) noexcept {
  auto* row = static_cast<typename Element::Stored*>(v) + position * head_dim;
  for (int64_t d = 0; d < head_dim; ++d) row[d] = Element::store(head[d]);
}

// score[p] = (fma chain over d of q[d] * k[p, d]) * scale, for the first n positions in whole blocks.
template <typename Element>
inline void scores(const AttentionJob& job, const float* q, int64_t n, float* score) {
  const int64_t begin = job.first_position / kPositionsPerBlock * kPositionsPerBlock;
  const auto* k = static_cast<const typename Element::Stored*>(job.k) + begin * job.head_dim;
  for (int64_t p0 = begin; p0 < n; p0 += kPositionsPerBlock, k += job.head_dim * kPositionsPerBlock) {
    float s[kPositionsPerBlock] = {};
    for (int64_t d = 0; d < job.head_dim; ++d) {
      for (int64_t lane = 0; lane < kPositionsPerBlock; ++lane) {
        s[lane] = __builtin_fmaf(q[d], Element::load(k[d * kPositionsPerBlock + lane]), s[lane]);
      }
    }
    for (int64_t lane = 0; lane < kPositionsPerBlock; ++lane) score[p0 + lane] = s[lane] * job.scale;
  }
}

// Scores, capped where the job says so, become weights e^(s - max); returns maximum and sum.
inline AttentionPartial softmax_weights(const AttentionJob& job, int64_t n, float* score) {
  const int64_t first = job.first_position;
  if (job.softcap != 0.0f) softcap(score + first, n - first, job.softcap);
  float max = score[first];
  for (int64_t p = first + 1; p < n; ++p) max = score[p] > max ? score[p] : max;
  max += 0.0f;  // of -0 and +0, whichever came first, +0
  float lane[64] = {};
  for (int64_t p = first; p < n; ++p) {
    score[p] = exp_f32(score[p] - max);
    lane[p % 64] += score[p];
  }
  return {max, fold_lanes(lane)};
}

template <typename Element>
void attend_chunk(const AttentionJob& job, AttentionPartial* partial, float* o) noexcept {
  for (int64_t g = 0; g < job.n_group; ++g, o += job.head_dim) {
    const int64_t n = job.seen_by(g);
    float weight[kChunk] = {};
    scores<Element>(job, job.q + g * job.head_dim, n, weight);
    partial[g] = softmax_weights(job, n, weight);
    for (int64_t d = 0; d < job.head_dim; ++d) o[d] = 0.0f;
    const auto* v = static_cast<const typename Element::Stored*>(job.v) + job.first_position * job.head_dim;
    for (int64_t p = job.first_position; p < n; ++p, v += job.head_dim) {
      for (int64_t d = 0; d < job.head_dim; ++d) o[d] = __builtin_fmaf(weight[p], Element::load(v[d]), o[d]);
    }
  }
}

// ---- Q8_0 ----

// A group of 32 elements as it is kept: quantized like activations, the scale rounded to f16. A group that is not
// finite keeps a NaN scale, so that whatever reads it is found out.
struct CachedGroup {
  int8_t q[kScaleGroup];
  uint16_t scale;
};

inline CachedGroup cache_group(const float* x) {
  CachedGroup group;
  float scale = 0.0f;
  int32_t sums[kScaleGroup / kSumGroup];
  const bool finite = quantize(x, kScaleGroup, group.q, &scale, sums);
  group.scale = finite ? f32_to_f16(scale) : uint16_t{0x7e00};
  return group;
}

inline constexpr int64_t kCachedUnit = kPositionsPerBlock * (kScaleGroup + 2);

[[maybe_unused]] void append_k_q8(void* k, int64_t position, const float* head, int64_t head_dim) noexcept {
  const int64_t n_groups = head_dim / kScaleGroup;
  auto* unit = static_cast<uint8_t*>(k) + position / kPositionsPerBlock * n_groups * kCachedUnit;
  const int64_t lane = position % kPositionsPerBlock;
  for (int64_t g = 0; g < n_groups; ++g, unit += kCachedUnit) {
    const CachedGroup group = cache_group(head + g * kScaleGroup);
    __builtin_memcpy(unit + lane * 2, &group.scale, 2);
    for (int64_t j = 0; j < kScaleGroup / 4; ++j) __builtin_memcpy(unit + 32 + j * 64 + lane * 4, group.q + 4 * j, 4);
  }
}

[[maybe_unused]] void append_v_q8(void* v, int64_t position, const float* head, int64_t head_dim) noexcept {
  auto* block = static_cast<uint8_t*>(v) + position * (head_dim / kScaleGroup) * (kScaleGroup + 2);
  for (int64_t g = 0; g < head_dim / kScaleGroup; ++g, block += kScaleGroup + 2) {
    const CachedGroup group = cache_group(head + g * kScaleGroup);
    __builtin_memcpy(block, &group.scale, 2);
    __builtin_memcpy(block + 2, group.q, kScaleGroup);
  }
}

// A query head as int8, for products with quantized keys.
struct QuantizedQuery {
  int8_t q[kMaxHeadDim];
  float scale[kMaxHeadDim / kScaleGroup];
  int32_t sum[kMaxHeadDim / kSumGroup];
};

// score[p] = (the product of compute mode fast for a Q8_0 row) * scale.
inline void scores_q8(const AttentionJob& job, const float* q, int64_t n, float* score) {
  QuantizedQuery query;
  const bool finite = quantize(q, job.head_dim, query.q, query.scale, query.sum);
  const int64_t n_groups = job.head_dim / kScaleGroup;
  for (int64_t p = job.first_position; p < n; ++p) {
    const auto* unit = static_cast<const uint8_t*>(job.k) + p / kPositionsPerBlock * n_groups * kCachedUnit;
    const int64_t lane = p % kPositionsPerBlock;
    float acc = finite ? 0.0f : __builtin_nanf("");
    for (int64_t g = 0; g < n_groups; ++g, unit += kCachedUnit) {
      int32_t isum = 0;
      for (int64_t i = 0; i < kScaleGroup; ++i) {
        isum += static_cast<int8_t>(unit[32 + i / 4 * 64 + lane * 4 + i % 4]) * query.q[g * kScaleGroup + i];
      }
      uint16_t half;
      __builtin_memcpy(&half, unit + lane * 2, 2);
      acc = __builtin_fmaf(static_cast<float>(isum), f16_to_f32(half) * query.scale[g], acc);
    }
    score[p] = acc * job.scale;
  }
}

[[maybe_unused]] void attend_chunk_q8(const AttentionJob& job, AttentionPartial* partial, float* o) noexcept {
  const int64_t n_groups = job.head_dim / kScaleGroup;
  for (int64_t h = 0; h < job.n_group; ++h, o += job.head_dim) {
    const int64_t n = job.seen_by(h);
    float weight[kChunk] = {};
    scores_q8(job, job.q + h * job.head_dim, n, weight);
    partial[h] = softmax_weights(job, n, weight);
    for (int64_t d = 0; d < job.head_dim; ++d) o[d] = 0.0f;
    const auto* block = static_cast<const uint8_t*>(job.v) + job.first_position * n_groups * (kScaleGroup + 2);
    for (int64_t p = job.first_position; p < n; ++p) {
      for (int64_t g = 0; g < n_groups; ++g, block += kScaleGroup + 2) {
        uint16_t half;
        __builtin_memcpy(&half, block, 2);
        const float scale = f16_to_f32(half);
        for (int64_t i = 0; i < kScaleGroup; ++i) {
          const float value = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
          float& sum = o[g * kScaleGroup + i];
          sum = __builtin_fmaf(weight[p], value, sum);
        }
      }
    }
  }
}

// ---- chunks ----

// Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
[[maybe_unused]] void merge_chunk(AttentionPartial& total, float* acc, const AttentionPartial& part, const float* o,
                                  int64_t head_dim) noexcept {
  const float max = part.max > total.max ? part.max : total.max;
  const float a = exp_f32(total.max - max);
  const float b = exp_f32(part.max - max);
  total = {max, __builtin_fmaf(part.sum, b, total.sum * a)};
  for (int64_t d = 0; d < head_dim; ++d) acc[d] = __builtin_fmaf(o[d], b, acc[d] * a);
}

[[maybe_unused]] void finish_attention(const AttentionPartial& total, float* acc, int64_t head_dim) noexcept {
  for (int64_t d = 0; d < head_dim; ++d) acc[d] /= total.sum;
}

}  // namespace
}  // namespace lockstep::kernels
