// For tests only: a random matrix, random activations and the products that kernels make of them.
#pragma once

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "base/checked.h"
#include "forge/random_blocks.h"
#include "kernels/packed.h"
#include "kernels/table.h"

namespace lockstep::forge {

// Activations in the layout of the forward pass: rows padded to whole vectors, the padding filled with what must not
// matter.
struct ActivationRows {
  int64_t n, stride, n_tokens;
  std::vector<float> x, scale;
  std::vector<int8_t> q;
  std::vector<int32_t> sum;

  ActivationRows(int64_t width, int64_t tokens)
      : n(width),
        stride((width + 63) / 64 * 64),
        n_tokens(tokens),
        x(static_cast<size_t>(stride * tokens), std::numeric_limits<float>::quiet_NaN()),
        scale(static_cast<size_t>(stride * tokens / kernels::kScaleGroup), std::numeric_limits<float>::quiet_NaN()),
        q(static_cast<size_t>(stride * tokens), int8_t{77}),
        sum(static_cast<size_t>(stride * tokens / kernels::kSumGroup), 123456789) {}

  [[nodiscard]] kernels::Activations view() const {
    return {x.data(),     stride,
            q.data(),     stride,
            scale.data(), stride / kernels::kScaleGroup,
            sum.data(),   stride / kernels::kSumGroup,
            n_tokens};
  }
  [[nodiscard]] float* row(int64_t token) { return x.data() + token * stride; }

  bool quantize(const kernels::KernelTable& table) {
    bool finite = true;
    for (int64_t t = 0; t < n_tokens; ++t) {
      finite &= table.quantize(row(t), n, q.data() + t * stride, scale.data() + t * stride / kernels::kScaleGroup,
                               sum.data() + t * stride / kernels::kSumGroup);
    }
    return finite;
  }
};

enum class ActivationKind { kOrdinary, kAllMax, kWide };

// kAllMax: |q| = 127 everywhere, so that integer sums reach their bounds. kWide: magnitudes over many powers of two.
inline ActivationRows random_activations(int64_t n, int64_t n_tokens, ActivationKind kind, RandomData& random) {
  ActivationRows rows(n, n_tokens);
  for (int64_t t = 0; t < n_tokens; ++t) {
    const bool one_sign = t % 2 == 0;
    for (int64_t i = 0; i < n; ++i) {
      float value = random.normal();
      if (kind == ActivationKind::kAllMax) {
        value =
            std::ldexp(one_sign || random.below(2) == 0 ? 1.5f : -1.5f, static_cast<int>(i / kernels::kScaleGroup % 5));
      }
      if (kind == ActivationKind::kWide) value = std::ldexp(value, static_cast<int>(random.below(40)) - 30);
      rows.row(t)[i] = value;
    }
  }
  return rows;
}

struct LinearCase {
  TensorType type;
  int64_t n_rows, n_cols;
  std::vector<std::byte> weights;
  ActivationRows a;

  [[nodiscard]] uint64_t row_bytes() const { return quant::row_bytes(type, static_cast<uint64_t>(n_cols)); }

  // The weights as the table wants them: rows of the file, or groups of 16 rows (the last filled up).
  [[nodiscard]] std::vector<std::byte> laid_out(const kernels::KernelTable& table) const {
    if (!table.packed) return weights;
    constexpr int64_t kRows = kernels::kRowsPerGroup;
    std::vector<std::byte> packed(static_cast<uint64_t>((n_rows + kRows - 1) / kRows * kRows) * row_bytes());
    for (int64_t row = 0; row < n_rows; row += kRows) {
      const uint64_t at = static_cast<uint64_t>(row) * row_bytes();
      kernels::pack_group(type, &weights[at], std::min(kRows, n_rows - row), n_cols, row_bytes(), &packed[at]);
    }
    return packed;
  }

  // out [n_tokens, n_rows], before the product filled with `initial`. With packed weights `begin` is a multiple of 16.
  [[nodiscard]] std::vector<float> product(const kernels::KernelTable& table, bool fast, int64_t begin, int64_t end,
                                           bool add = false, float initial = 0.375f) const {
    std::vector<float> out(static_cast<size_t>(a.n_tokens * n_rows), initial);
    const std::vector<std::byte> data = laid_out(table);
    const uint64_t scratch_bytes = round_up<uint64_t>(kernels::linear_scratch_bytes(n_cols, a.n_tokens), 64);
    const std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, scratch_bytes), &std::free);
    const auto& functions = fast ? table.fast : table.exact;
    functions[static_cast<int>(type)]({{data.data(), row_bytes(), n_rows, n_cols},
                                       begin,
                                       end,
                                       a.view(),
                                       out.data(),
                                       n_rows,
                                       add,
                                       static_cast<std::byte*>(scratch.get())});
    return out;
  }
  [[nodiscard]] std::vector<float> product(const kernels::KernelTable& table, bool fast) const {
    return product(table, fast, 0, n_rows);
  }
};

}  // namespace lockstep::forge
