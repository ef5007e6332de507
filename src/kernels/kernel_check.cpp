#include "kernels/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/buffer.h"
#include "kernels/packed.h"
#include "kernels/sample_rows.h"
#include "kernels/select.h"
#include "quant/format.h"

namespace lockstep::kernels {
namespace {

using quant::TensorType;

constexpr int64_t kRows = 20;  // a whole group and a part of one
constexpr int64_t kCols = 512;
constexpr int64_t kSomeTokens = 5;  // a tile of any set, and for some a part of one
constexpr int64_t kTokens = kMostStreamed + kSomeTokens;
constexpr int64_t kHeadDim = 64;
constexpr int64_t kGroup = 3;
constexpr int64_t kFewPositions = 19;  // a block of 16 and a part of one

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

struct Quantized {
  std::vector<float> x = std::vector<float>(kTokens * kCols);
  std::vector<int8_t> q = std::vector<int8_t>(kTokens * kCols);
  std::vector<float> scale = std::vector<float>(kTokens * kCols / kScaleGroup);
  std::vector<int32_t> sum = std::vector<int32_t>(kTokens * kCols / kSumGroup);

  explicit Quantized(const KernelTable& table) {
    fill_sample_activations(1, x);
    for (int64_t t = 0; t < kTokens; ++t) {
      (void)table.quantize(x.data() + t * kCols, kCols, q.data() + t * kCols, scale.data() + t * kCols / kScaleGroup,
                           sum.data() + t * kCols / kSumGroup);
    }
  }
  [[nodiscard]] Activations view(int64_t n_tokens) const {
    return {x.data(),          kCols,   q.data(), kCols, scale.data(), kCols / kScaleGroup, sum.data(),
            kCols / kSumGroup, n_tokens};
  }
};

// The checks of one table, one after another.
class SelfTest {
 public:
  explicit SelfTest(const KernelTable& table) : table_(table) {}

  SelfTestResult run() && {
    check_quantize();
    for (const quant::FormatInfo& format : quant::all_formats()) check_products(format.type);
    check_vectors();
    for (int type = 0; type < kCacheTypes; ++type) {
      check_attention(type, kFewPositions);
      check_attention(type, kChunk);
    }
    check_merge();
    return std::move(result_);
  }

  SelfTestResult run_operations(CacheType cache_type) && {
    check_quantize();
    check_vectors();
    check_attention(static_cast<int>(cache_type), kFewPositions);
    check_merge();
    return std::move(result_);
  }

 private:
  void expect(bool same, std::string what) {
    ++result_.checks;
    if (!same) result_.failures.push_back(std::move(what));
  }

  // The same operation by the table and by the definition.
  template <typename Compute>
  void compare(const Compute& compute, std::string what) {
    expect(same_bits(compute(table_), compute(definition_table())), std::move(what));
  }

  void check_quantize() {
    const Quantized got(table_);
    const Quantized wanted(definition_table());
    expect(same_bits(got.q, wanted.q) && same_bits(got.scale, wanted.scale) && same_bits(got.sum, wanted.sum),
           "quantize");
  }

  void check_products(TensorType type) {
    const auto index = static_cast<size_t>(type);
    // As the rows stream by, and by panel.
    if (definition_table().fast[index] != nullptr) {
      for (const int64_t n_tokens : {int64_t{1}, table_.most_streamed[index] + kSomeTokens})
        check_product(type, n_tokens, "fast", table_.fast[index], definition_table().fast[index]);
    }
    if (definition_table().exact[index] != nullptr) {
      for (const int64_t n_tokens : {int64_t{1}, kSomeTokens})
        check_product(type, n_tokens, "exact", table_.exact[index], definition_table().exact[index]);
    }
  }

  using Product = void (*)(const LinearJob&) noexcept;

  void check_product(TensorType type, int64_t n_tokens, const char* mode, Product product, Product defined) {
    std::string what = fmt::format("{} {}, {} tokens", mode, quant::to_string(type), n_tokens);
    if (product == nullptr) return expect(false, what + ": missing");
    const uint64_t row_bytes = quant::row_bytes(type, kCols);
    std::vector<std::byte> rows(static_cast<size_t>(kRows) * row_bytes);
    fill_sample_rows(type, static_cast<uint64_t>(type), rows);
    expect(same_bits(multiply(product, laid_out(table_, type, rows, row_bytes), row_bytes, n_tokens),
                     multiply(defined, laid_out(definition_table(), type, rows, row_bytes), row_bytes, n_tokens)),
           std::move(what));
  }

  static std::vector<std::byte> laid_out(const KernelTable& table, TensorType type, const std::vector<std::byte>& rows,
                                         uint64_t row_bytes) {
    if (!table.packed) return rows;
    std::vector<std::byte> packed(static_cast<size_t>((kRows + kRowsPerGroup - 1) / kRowsPerGroup * kRowsPerGroup) *
                                  row_bytes);
    for (int64_t row = 0; row < kRows; row += kRowsPerGroup) {
      const size_t at = static_cast<size_t>(row) * row_bytes;
      pack_group(type, rows.data() + at, std::min<int64_t>(kRowsPerGroup, kRows - row), kCols, row_bytes,
                 packed.data() + at);
    }
    return packed;
  }

  std::vector<float> multiply(Product product, const std::vector<std::byte>& weights, uint64_t row_bytes,
                              int64_t n_tokens) {
    std::vector<float> out(static_cast<size_t>(kRows * n_tokens), 0.25f);
    product({{weights.data(), row_bytes, kRows, kCols},
             0,
             kRows,
             activations_.view(n_tokens),
             out.data(),
             kRows,
             true,
             scratch_.data()});
    return out;
  }

  void check_vectors() {
    constexpr int64_t kLength = 100;  // not a multiple of any vector
    std::vector<float> x(kLength);
    std::vector<float> y(kLength);
    fill_sample_activations(2, x);
    fill_sample_activations(3, y);
    std::ranges::for_each(x, [](float& value) { value *= 10.0f; });
    compare(
        [&](const KernelTable& t) {
          return in_place(x, [&](float* out) { t.rms_norm(x.data(), y.data(), kLength, 1e-5f, out); });
        },
        "rms_norm");
    compare(
        [&](const KernelTable& t) {
          return in_place(x, [&](float* out) { t.swiglu(x.data(), y.data(), kLength, out); });
        },
        "swiglu");
    compare(
        [&](const KernelTable& t) {
          return in_place(x, [&](float* out) { t.geglu(x.data(), y.data(), kLength, out); });
        },
        "geglu");
    compare([&](const KernelTable& t) { return in_place(x, [&](float* out) { t.softcap(out, kLength, 5.0f); }); },
            "softcap");
    compare([&](const KernelTable& t) { return in_place(x, [&](float* out) { t.add(out, y.data(), kLength); }); },
            "add");
    for (const auto pairing : {RopePairing::kAdjacent, RopePairing::kHalves}) {
      compare(
          [&](const KernelTable& t) {
            return in_place(x, [&](float* out) { t.rope(out, y.data(), kHeadDim, pairing); });
          },
          "rope");
    }
  }

  template <typename Change>
  static std::vector<float> in_place(std::vector<float> data, const Change& change) {
    change(data.data());
    return data;
  }

  void check_attention(int type, int64_t n_positions) {
    if (definition_table().attend_chunk[type] == nullptr) return;
    if (table_.attend_chunk[type] == nullptr || table_.append_k[type] == nullptr || table_.append_v[type] == nullptr) {
      return expect(false, fmt::format("attention, cache type {}: missing", type));
    }
    compare([&](const KernelTable& t) { return attend(t, type, n_positions); },
            fmt::format("attention, cache type {}, {} positions", type, n_positions));
  }

  // One chunk written and read; the largest element that a cache may have is 4 bytes.
  static std::vector<float> attend(const KernelTable& table, int type, int64_t n_positions) {
    std::vector<float> k(kChunk * kHeadDim);
    std::vector<float> v(kChunk * kHeadDim);
    std::vector<float> head(kHeadDim);
    for (int64_t p = 0; p < n_positions; ++p) {
      fill_sample_activations(static_cast<uint64_t>(100 + p), head);
      table.append_k[type](k.data(), p, head.data(), kHeadDim);
      table.append_v[type](v.data(), p, head.data(), kHeadDim);
    }
    std::vector<float> q(kGroup * kHeadDim);
    fill_sample_activations(4, q);
    AttentionPartial partial[kGroup];
    std::vector<float> o(kGroup * kHeadDim);
    table.attend_chunk[type]({q.data(), kGroup, kHeadDim, k.data(), v.data(), n_positions, 0.125f, nullptr}, partial,
                             o.data());
    for (const AttentionPartial& p : partial) o.insert(o.end(), {p.max, p.sum});
    return o;
  }

  void check_merge() {
    compare(
        [](const KernelTable& t) {
          std::vector<float> acc(kHeadDim);
          std::vector<float> o(kHeadDim);
          fill_sample_activations(5, acc);
          fill_sample_activations(6, o);
          AttentionPartial total = {1.5f, 17.25f};
          t.merge_chunk(total, acc.data(), {2.25f, 101.5f}, o.data(), kHeadDim);
          t.finish_attention(total, acc.data(), kHeadDim);
          acc.insert(acc.end(), {total.max, total.sum});
          return acc;
        },
        "merge of attention chunks");
  }

  const KernelTable& table_;
  const Quantized activations_{definition_table()};
  Buffer scratch_{linear_scratch_bytes(kCols, kTokens), "the kernel self-test"};
  SelfTestResult result_;
};

}  // namespace

SelfTestResult self_test(const KernelTable& table) {
  return SelfTest(table).run();
}

SelfTestResult operations_test(const KernelTable& table, CacheType cache_type) {
  return SelfTest(table).run_operations(cache_type);
}

}  // namespace lockstep::kernels
