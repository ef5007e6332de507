// The scalar definition of the matrix product, in both compute modes, for every weight type (NUMERICS.md section 2).
// One output element is one chain of fp32 operations in ascending k; rows and tokens are independent.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "kernels/table.h"
#include "quant/tensor_type.h"
#include "quant/unpack.h"

namespace lockstep::kernels {
namespace {

using quant::TensorType;

// Tokens whose accumulators are kept while a weight row is unpacked once.
constexpr int64_t kTokenTile = 16;
// Rows whose chains run side by side in exact mode: they hide each other's latency, and change nothing else.
constexpr int64_t kRowTile = 8;

inline void store(const LinearJob& job, int64_t token, int64_t row, float value) {
  float& out = job.out[token * job.out_stride + row];
  out = job.add ? out + value : value;
}

template <int kGroup>
inline int32_t dot(const int8_t* a, const int8_t* b) {
  int32_t sum = 0;
  for (int i = 0; i < kGroup; ++i) sum += static_cast<int32_t>(a[i]) * static_cast<int32_t>(b[i]);
  return sum;
}

// acc continues over one unpacked block that begins at column k of token t.
template <TensorType T>
inline float accumulate_block(const quant::Unpacked& block, const Activations& a, int64_t t, int64_t k, float acc) {
  using Form = quant::Form<T>;
  constexpr int kGroup = Form::kGroup;
  const int8_t* q = a.q + t * a.q_stride + k;
  const float* scale = a.scale + t * a.scale_stride + k / kScaleGroup;
  const int32_t* sum = a.sum + t * a.sum_stride + k / kSumGroup;
  for (int g = 0; g < Form::kBlock / kGroup; ++g) {
    const float as = scale[g * kGroup / kScaleGroup];
    const int32_t isum = dot<kGroup>(block.q + g * kGroup, q + g * kGroup);
    acc = __builtin_fmaf(static_cast<float>(isum), block.ws[g] * as, acc);
    if constexpr (Form::kHasMin) {
      int32_t total = 0;
      for (int i = 0; i < kGroup / kSumGroup; ++i) total += sum[g * (kGroup / kSumGroup) + i];
      acc = __builtin_fmaf(block.wm[g], as * static_cast<float>(total), acc);
    }
  }
  return acc;
}

template <TensorType T>
void linear_fast(const LinearJob& job) noexcept {
  using Form = quant::Form<T>;
  const int64_t n_blocks = job.w.n_cols / Form::kBlock;
  for (int64_t row = job.row_begin; row < job.row_end; ++row) {
    const auto* blocks =
        reinterpret_cast<const typename Form::Block*>(job.w.data + static_cast<uint64_t>(row) * job.w.row_bytes);
    for (int64_t t0 = 0; t0 < job.a.n_tokens; t0 += kTokenTile) {
      const int64_t n = job.a.n_tokens - t0 < kTokenTile ? job.a.n_tokens - t0 : kTokenTile;
      float acc[kTokenTile] = {};
      for (int64_t b = 0; b < n_blocks; ++b) {
        quant::Unpacked block;
        quant::unpack<T>(blocks[b], block);
        for (int64_t t = 0; t < n; ++t) acc[t] = accumulate_block<T>(block, job.a, t0 + t, b * Form::kBlock, acc[t]);
      }
      for (int64_t t = 0; t < n; ++t) store(job, t0 + t, row, acc[t]);
    }
  }
}

// n weights (a multiple of the block size, at most kExactChunk) beginning at column k of a row, exactly as fp32.
template <TensorType T>
inline void dequantize(const std::byte* row, int64_t k, int64_t n, float* out) {
  if constexpr (T == TensorType::kF32) {
    const auto* w = reinterpret_cast<const float*>(row) + k;
    for (int64_t i = 0; i < n; ++i) out[i] = w[i];
  } else if constexpr (T == TensorType::kF16) {
    const auto* w = reinterpret_cast<const uint16_t*>(row) + k;
    for (int64_t i = 0; i < n; ++i) out[i] = f16_to_f32(w[i]);
  } else if constexpr (T == TensorType::kBF16) {
    const auto* w = reinterpret_cast<const uint16_t*>(row) + k;
    for (int64_t i = 0; i < n; ++i) out[i] = bf16_to_f32(w[i]);
  } else {
    using Form = quant::Form<T>;
    const auto* blocks = reinterpret_cast<const typename Form::Block*>(row) + k / Form::kBlock;
    // All are unpacked before the first is multiplied: a load soon after the narrower stores that it spans has to wait.
    quant::Unpacked unpacked[kExactChunk / Form::kBlock];
    for (int64_t b = 0; b < n / Form::kBlock; ++b) quant::unpack<T>(blocks[b], unpacked[b]);
    for (int64_t b = 0; b < n / Form::kBlock; ++b) {
      for (int g = 0; g < Form::kBlock / Form::kGroup; ++g) {
        for (int i = 0; i < Form::kGroup; ++i) {
          const float product = unpacked[b].ws[g] * static_cast<float>(unpacked[b].q[g * Form::kGroup + i]);
          out[b * Form::kBlock + g * Form::kGroup + i] = Form::kHasMin ? product + unpacked[b].wm[g] : product;
        }
      }
    }
  }
}

// acc[r] += the fma chain over n elements of row r and x.
template <int64_t kRows>
inline void accumulate_exact(const float (*w)[kExactChunk], const float* x, int64_t n, float* acc) {
  float p[kRows] = {};
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t r = 0; r < kRows; ++r) p[r] = __builtin_fmaf(w[r][k], x[k], p[r]);
  }
  for (int64_t r = 0; r < kRows; ++r) acc[r] += p[r];
}

template <TensorType T, int64_t kRows>
inline void exact_rows(const LinearJob& job, int64_t row) {
  float w[kRows][kExactChunk];
  for (int64_t t0 = 0; t0 < job.a.n_tokens; t0 += kTokenTile) {
    const int64_t n_tokens = job.a.n_tokens - t0 < kTokenTile ? job.a.n_tokens - t0 : kTokenTile;
    float acc[kTokenTile][kRows] = {};
    for (int64_t k = 0; k < job.w.n_cols; k += kExactChunk) {
      const int64_t n = job.w.n_cols - k < kExactChunk ? job.w.n_cols - k : kExactChunk;
      for (int64_t r = 0; r < kRows; ++r)
        dequantize<T>(job.w.data + static_cast<uint64_t>(row + r) * job.w.row_bytes, k, n, w[r]);
      for (int64_t t = 0; t < n_tokens; ++t)
        accumulate_exact<kRows>(w, job.a.x + (t0 + t) * job.a.x_stride + k, n, acc[t]);
    }
    for (int64_t t = 0; t < n_tokens; ++t) {
      for (int64_t r = 0; r < kRows; ++r) store(job, t0 + t, row + r, acc[t][r]);
    }
  }
}

template <TensorType T>
void linear_exact(const LinearJob& job) noexcept {
  int64_t row = job.row_begin;
  for (; row + kRowTile <= job.row_end; row += kRowTile) exact_rows<T, kRowTile>(job, row);
  for (; row < job.row_end; ++row) exact_rows<T, 1>(job, row);
}

}  // namespace
}  // namespace lockstep::kernels
