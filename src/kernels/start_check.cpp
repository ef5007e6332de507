#include "kernels/start_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/buffer.h"
#include "kernels/kernel_check.h"
#include "kernels/packed.h"
#include "kernels/row_product.h"
#include "kernels/sample_rows.h"
#include "kernels/select.h"
#include "quant/format.h"

namespace lockstep::kernels {
namespace {

// One token streams, more than most_streamed go through a panel, of more than one tile.
constexpr int64_t kSomeTokens = 9;
constexpr int64_t kMostTokens = kMostStreamed + 1;
constexpr int64_t kPaddedCols = (kSampleCols + 63) / 64 * 64;

Product product_of(const KernelTable& table, quant::TensorType type, bool exact) {
  return (exact ? table.exact : table.fast)[static_cast<size_t>(type)];
}

class StartChecker {
 public:
  explicit StartChecker(const KernelTable& table) { result_.table = table; }

  StartCheck run(CacheType cache_type, std::span<const WeightSample> samples, CheckedModes modes) && {
    check_operations(cache_type);
    prepare_activations();
    for (const WeightSample& sample : samples) {
      if (modes.fast) check_product(sample, false);
      if (modes.exact) check_product(sample, true);
    }
    return std::move(result_);
  }

 private:
  // Everything that is no product: replaced as a whole, since it all costs little.
  void check_operations(CacheType cache_type) {
    const SelfTestResult found = operations_test(result_.table, cache_type);
    result_.checks += found.checks;
    if (found.ok()) return;
    const ScalarSets scalar = scalar_sets();
    const KernelTable* better = scalar.sets[0];
    if (!operations_test(*better, cache_type).ok()) better = &definition_table();
    for (const std::string& failure : found.failures) note_fault(failure, "", better->isa);
    KernelTable repaired = *better;
    repaired.isa = result_.table.isa;
    repaired.packed = result_.table.packed;
    std::ranges::copy(result_.table.most_streamed, repaired.most_streamed);
    std::ranges::copy(result_.table.fast, repaired.fast);
    std::ranges::copy(result_.table.exact, repaired.exact);
    result_.table = repaired;
  }

  void prepare_activations() {
    fill_sample_activations(1, x_);
    for (int64_t t = 0; t < kMostTokens; ++t) {
      (void)definition_table().quantize(x_.data() + t * kPaddedCols, kPaddedCols, q_.data() + t * kPaddedCols,
                                        scale_.data() + t * kPaddedCols / kScaleGroup,
                                        sum_.data() + t * kPaddedCols / kSumGroup);
    }
  }

  void check_product(const WeightSample& sample, bool exact) {
    const Product chosen = product_of(result_.table, sample.type, exact);
    if (product_of(definition_table(), sample.type, exact) == nullptr) return;
    ++result_.checks;
    if (chosen != nullptr && is_right(sample, exact, chosen, result_.table.packed)) return;
    const ScalarSets scalar = scalar_sets();
    int index = 0;
    while (index + 1 < scalar.n && !is_right(sample, exact, product_of(*scalar.sets[index], sample.type, exact), false))
      ++index;
    auto& slot = (exact ? result_.table.exact : result_.table.fast)[static_cast<size_t>(sample.type)];
    slot = result_.table.packed ? packed_row_product(index, sample.type, exact)
                                : product_of(*scalar.sets[index], sample.type, exact);
    note_fault(fmt::format("{} {}", exact ? "exact" : "fast", quant::to_string(sample.type)),
               " on the model's own weights", scalar.sets[index]->isa);
  }

  void note_fault(const std::string& what, std::string_view where, std::string_view instead) {
    result_.faults.push_back(
        fmt::format("{} differs from the definition{}; {} is used for it instead", what, where, instead));
  }

  bool is_right(const WeightSample& sample, bool exact, Product product, bool packed) {
    const Product defined = product_of(definition_table(), sample.type, exact);
    const int64_t streamed = exact ? 0 : result_.table.most_streamed[static_cast<size_t>(sample.type)];
    const int64_t token_counts[] = {1, std::max(streamed + 1, kSomeTokens)};
    return std::ranges::all_of(token_counts, [&](int64_t n_tokens) {
      const std::vector<float> got = multiply(sample, product, packed, n_tokens);
      const std::vector<float> wanted = multiply(sample, defined, false, n_tokens);
      return std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)) == 0;
    });
  }

  std::vector<float> multiply(const WeightSample& sample, Product product, bool packed, int64_t n_tokens) {
    const int64_t n_rows = std::min(sample.n_rows, kSampleRows);
    const uint64_t row_bytes = quant::row_bytes(sample.type, static_cast<uint64_t>(sample.n_cols));
    std::vector<std::byte> group;
    if (packed) {
      group.resize(kRowsPerGroup * row_bytes);
      pack_group(sample.type, sample.rows.data(), n_rows, sample.n_cols, row_bytes, group.data());
    }
    const std::vector<std::byte>& rows = packed ? group : sample.rows;
    std::vector<float> out(static_cast<size_t>(kSampleRows * n_tokens));
    product({{rows.data(), row_bytes, n_rows, std::min(sample.n_cols, kSampleCols)},
             0,
             n_rows,
             {x_.data(), kPaddedCols, q_.data(), kPaddedCols, scale_.data(), kPaddedCols / kScaleGroup, sum_.data(),
              kPaddedCols / kSumGroup, n_tokens},
             out.data(),
             kSampleRows,
             false,
             scratch_.data()});
    result_.multiply_adds += static_cast<uint64_t>(n_rows * std::min(sample.n_cols, kSampleCols) * n_tokens);
    return out;
  }

  StartCheck result_;
  std::vector<float> x_ = std::vector<float>(kMostTokens * kPaddedCols);
  std::vector<int8_t> q_ = std::vector<int8_t>(kMostTokens * kPaddedCols);
  std::vector<float> scale_ = std::vector<float>(kMostTokens * kPaddedCols / kScaleGroup);
  std::vector<int32_t> sum_ = std::vector<int32_t>(kMostTokens * kPaddedCols / kSumGroup);
  Buffer scratch_{linear_scratch_bytes(kSampleCols, kMostTokens), "the kernel self-test"};
};

}  // namespace

StartCheck start_check(const KernelTable& table, CacheType cache_type, std::span<const WeightSample> samples,
                       CheckedModes modes) {
  return StartChecker(table).run(cache_type, samples, modes);
}

}  // namespace lockstep::kernels
