// The fp32 product: F32, F16 and BF16 weights, and compute mode exact of every type (NUMERICS.md section 2). A chunk of
// 256 elements of k is brought into an fp32 panel [k][row groups][16 rows]; each output is a chain over the chunk, and
// the chunks are added in order.
#pragma once

#include "kernels/body/integer_product.h"
#include "kernels/body/panel.h"
#include "kernels/table.h"

namespace lockstep::kernels {
namespace {

template <TensorType type>
inline constexpr bool kIsFloat = type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBF16;

template <TensorType type>
LOCKSTEP_INLINE Floats load_weights(const std::byte* p) {
  if constexpr (type == TensorType::kF32) return load(reinterpret_cast<const float*>(p));
  if constexpr (type == TensorType::kF16) return load_f16(p);
  if constexpr (type == TensorType::kBF16) return load_bf16(p);
}

// Byte i of each dword of travelling weights as the number q.
template <typename P, int i>
LOCKSTEP_INLINE Floats weight(Bytes line) {
  if constexpr (P::kBits == 8 && kSignedEight) return to_float(signed_byte<i>(line));
  return to_float(add(unsigned_byte<i>(line), splat_int(-P::kZero)));
}

template <typename P, int n_groups, int i>
LOCKSTEP_INLINE void dequantize_byte(Bytes line, Floats ws, Floats wm, float* out) {
  const Floats product = ws * weight<P, i>(line);
  store(out + i * n_groups * kRowsPerGroup, P::kHasMin ? product + wm : product);
}

// Elements [k, k + n) of a group of 16 packed rows into the panel, as row group `group` of n_groups.
template <TensorType type, int n_groups>
void load_chunk(const LinearJob& job, int64_t row, int64_t k, int64_t n, float* panel, int group) {
  const std::byte* rows = job.w.data + static_cast<uint64_t>(row) * job.w.row_bytes;
  float* out = panel + group * kRowsPerGroup;
  if constexpr (kIsFloat<type>) {
    constexpr int kUnit = packed_unit_bytes(type);
    for (int64_t i = 0; i < n; ++i) {
      prefetch(rows + (k + i) * kUnit + 4096);
      store(out + i * n_groups * kRowsPerGroup, load_weights<type>(rows + (k + i) * kUnit));
    }
  } else {
    using P = PanelForm<type>;
    alignas(64) std::byte block[P::kGroups * P::kLines * 64];
    for (int64_t b = k / P::kBlock; b < (k + n) / P::kBlock; ++b) {
      unpack_block<type, 1>(rows, b, job.w.row_bytes, block, 0);
      for (int s = 0; s < P::kGroups; ++s) {
        const Floats ws = load(scale_line<P, 1>(block, s, 0, 0));
        const Floats wm = P::kHasMin ? load(scale_line<P, 1>(block, s, 1, 0)) : zero();
        for (int j = 0; j < P::kQuads; ++j, out += 4 * n_groups * kRowsPerGroup) {
          const Bytes line = load_bytes(block + (s * P::kLines + j) * 64);
          dequantize_byte<P, n_groups, 0>(line, ws, wm, out);
          dequantize_byte<P, n_groups, 1>(line, ws, wm, out);
          dequantize_byte<P, n_groups, 2>(line, ws, wm, out);
          dequantize_byte<P, n_groups, 3>(line, ws, wm, out);
        }
      }
    }
  }
}

// acc [n_tokens][n_groups][16] += the chains over n elements.
template <int n_groups, int n_tokens>
[[gnu::noinline]] void float_tile(const float* panel, const float* x, int64_t x_stride, int64_t n, float* acc) {
  Floats p[n_groups][n_tokens];
  LOCKSTEP_UNROLL
  for (int g = 0; g < n_groups; ++g) {
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) p[g][t] = zero();
  }
  for (int64_t k = 0; k < n; ++k) {
    Floats w[n_groups];
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_groups; ++g) w[g] = load(panel + (k * n_groups + g) * kRowsPerGroup);
    LOCKSTEP_UNROLL
    for (int t = 0; t < n_tokens; ++t) {
      const Floats a = broadcast(x + t * x_stride + k);
      LOCKSTEP_UNROLL
      for (int g = 0; g < n_groups; ++g) p[g][t] = fma(w[g], a, p[g][t]);
    }
  }
  LOCKSTEP_UNROLL
  for (int t = 0; t < n_tokens; ++t) {
    LOCKSTEP_UNROLL
    for (int g = 0; g < n_groups; ++g) {
      float* sum = acc + (t * n_groups + g) * kRowsPerGroup;
      store(sum, load(sum) + p[g][t]);
    }
  }
}

template <int n_groups>
void float_tiles(const Activations& a, const float* panel, int64_t k, int64_t n, float* acc) {
  int64_t t = 0;
  const auto run = [&]<int n_tokens>() {
    for (; a.n_tokens - t >= n_tokens; t += n_tokens) {
      float_tile<n_groups, n_tokens>(panel, a.x + t * a.x_stride + k, a.x_stride, n,
                                     acc + t * n_groups * kRowsPerGroup);
    }
  };
  run.template operator()<kFloatTileTokens>();
  run.template operator()<4>();
  run.template operator()<2>();
  run.template operator()<1>();
}

template <TensorType type, int n_groups>
void float_rows(const LinearJob& job, int64_t row) {
  auto* panel = reinterpret_cast<float*>(job.scratch);
  float* acc = panel + kExactChunk * n_groups * kRowsPerGroup;
  for (int64_t i = 0; i < job.a.n_tokens * n_groups; ++i) store(acc + i * kRowsPerGroup, zero());
  for (int64_t k = 0; k < job.w.n_cols; k += kExactChunk) {
    const int64_t n = job.w.n_cols - k < kExactChunk ? job.w.n_cols - k : kExactChunk;
    for (int g = 0; g < n_groups; ++g) {
      if (row + g * kRowsPerGroup < job.row_end)
        load_chunk<type, n_groups>(job, row + g * kRowsPerGroup, k, n, panel, g);
    }
    float_tiles<n_groups>(job.a, panel, k, n, acc);
  }
  for (int g = 0; g < n_groups; ++g) {
    if (row + g * kRowsPerGroup >= job.row_end) break;
    for (int64_t t = 0; t < job.a.n_tokens; ++t)
      store_rows(job, t, row + g * kRowsPerGroup, load(acc + (t * n_groups + g) * kRowsPerGroup));
  }
}

inline constexpr int64_t kMostStreamedFloats = 1;

// One token, F32, F16 or BF16, one group of rows: straight from memory. The one stream is read strictly in order, which
// the hardware's own fetching likes best: more chains side by side, or explicit prefetches, read 10 to 40 % slower.
template <TensorType type>
[[gnu::noinline]] void stream_floats(const LinearJob& job, int64_t row) {
  constexpr int kUnit = packed_unit_bytes(type);
  const std::byte* units = job.w.data + static_cast<uint64_t>(row) * job.w.row_bytes;
  Floats acc = zero();
  for (int64_t k = 0; k < job.w.n_cols; k += kExactChunk) {
    const int64_t n = job.w.n_cols - k < kExactChunk ? job.w.n_cols - k : kExactChunk;
    Floats p = zero();
    for (int64_t i = 0; i < n; ++i, units += kUnit) p = fma(load_weights<type>(units), broadcast(job.a.x + k + i), p);
    acc = acc + p;
  }
  store_rows(job, 0, row, acc);
}

template <TensorType type>
void linear_float(const LinearJob& job) noexcept {
  int64_t row = job.row_begin;
  if constexpr (kIsFloat<type>) {
    if (job.a.n_tokens <= kMostStreamedFloats) {
      for (; row < job.row_end; row += kRowsPerGroup) stream_floats<type>(job, row);
      return;
    }
  }
  for (; row < job.row_end; row += kFloatTileGroups * kRowsPerGroup) float_rows<type, kFloatTileGroups>(job, row);
}

}  // namespace
}  // namespace lockstep::kernels
