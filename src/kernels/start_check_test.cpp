#include "kernels/start_check.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/kernel_check.h"
#include "kernels/packed.h"
#include "kernels/row_product.h"
#include "kernels/sample_rows.h"
#include "kernels/select.h"
#include "quant/format.h"

namespace lockstep::kernels {
namespace {

using quant::TensorType;

const KernelTable& best() {
  return *available_tables().front();
}

WeightSample sample_of(TensorType type) {
  WeightSample sample = {type, 16, 512, {}};
  sample.rows.resize(16 * quant::row_bytes(type, 512));
  fill_sample_rows(type, 7, sample.rows);
  return sample;
}

std::vector<WeightSample> all_samples() {
  std::vector<WeightSample> samples;
  for (const quant::FormatInfo& format : quant::all_formats()) {
    if (format.supported) samples.push_back(sample_of(format.type));
  }
  return samples;
}

// All but the name and the layout: pointers without gaps between them.
bool same_entries(const KernelTable& a, const KernelTable& b) {
  constexpr size_t kFirst = offsetof(KernelTable, fast);
  return std::memcmp(reinterpret_cast<const std::byte*>(&a) + kFirst, reinterpret_cast<const std::byte*>(&b) + kFirst,
                     sizeof(KernelTable) - kFirst) == 0;
}

template <TensorType type, bool only_panel>
void off_by_one_ulp(const LinearJob& job) noexcept {
  best().fast[static_cast<int>(type)](job);
  if (only_panel && job.a.n_tokens <= best().most_streamed[static_cast<int>(type)]) return;
  float& one = job.out[job.row_begin];
  one = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, one) + 1u);
}

TEST(StartCheck, PassesForEveryTableAndChangesNothing) {
  const std::vector<WeightSample> samples = all_samples();
  for (const KernelTable* table : available_tables()) {
    for (int cache = 0; cache < kCacheTypes; ++cache) {
      const StartCheck check = start_check(*table, static_cast<CacheType>(cache), samples);
      EXPECT_TRUE(check.ok()) << table->isa << ": " << (check.ok() ? "" : check.faults.front());
      EXPECT_EQ(check.checks, static_cast<int>(2 * samples.size()) + operations_test(*table, CacheType::kF16).checks);
      EXPECT_TRUE(same_entries(check.table, *table)) << table->isa;
    }
  }
}

// How many tokens of a type go through a panel.
int64_t panel_tokens(TensorType type) {
  return std::max(best().most_streamed[static_cast<int>(type)] + 1, int64_t{9});
}

// What it costs, in multiply-adds: a type's products in both modes, by the kernel and by the definition, for 1 and 9
// tokens, or one more than stream. At a billion a second, slow for scalar code, that is a third of a millisecond for a
// type.
TEST(StartCheck, CostsNoMoreThanAFewRowsOfEachType) {
  const StartCheck one = start_check(best(), CacheType::kF16, std::vector{sample_of(TensorType::kQ4_K)});
  const auto expected = [](TensorType type) {
    return static_cast<uint64_t>(2 * 16 * 256 * (1 + 9 + 1 + panel_tokens(type)));
  };
  EXPECT_EQ(one.multiply_adds, expected(TensorType::kQ4_K));
  EXPECT_LE(one.multiply_adds, 400'000u);
  uint64_t all = 0;
  const std::vector<WeightSample> samples = all_samples();
  for (const WeightSample& sample : samples) all += expected(sample.type);
  EXPECT_EQ(start_check(best(), CacheType::kF16, samples).multiply_adds, all);
}

TEST(StartCheck, LooksOnlyAtTheModesThatAreAskedFor) {
  const std::vector samples = {sample_of(TensorType::kQ4_K)};
  const StartCheck both = start_check(best(), CacheType::kF16, samples);
  KernelTable broken = best();
  broken.exact[static_cast<int>(TensorType::kQ4_K)] = nullptr;
  const StartCheck fast = start_check(broken, CacheType::kF16, samples, {.fast = true, .exact = false});
  EXPECT_TRUE(fast.ok());
  EXPECT_EQ(both.multiply_adds - fast.multiply_adds, uint64_t{2} * 16 * 256 * (1 + 9));
  EXPECT_EQ(fast.multiply_adds, static_cast<uint64_t>(2 * 16 * 256 * (1 + panel_tokens(TensorType::kQ4_K))));
  const StartCheck exact = start_check(broken, CacheType::kF16, samples, {.fast = false, .exact = true});
  EXPECT_EQ(exact.faults.size(), 1u);
}

TEST(StartCheck, ReplacesTheProductOfTheTypeThatIsWrongAndNoOther) {
  const std::vector<WeightSample> samples = all_samples();
  KernelTable broken = best();
  broken.fast[static_cast<int>(TensorType::kQ4_1)] = off_by_one_ulp<TensorType::kQ4_1, true>;
  broken.fast[static_cast<int>(TensorType::kQ6_K)] = off_by_one_ulp<TensorType::kQ6_K, false>;
  broken.exact[static_cast<int>(TensorType::kIQ4_XS)] = nullptr;
  const StartCheck check = start_check(broken, CacheType::kF32, samples);
  const std::string instead = scalar_sets().sets[0]->isa;
  const std::vector<std::string> wanted = {
      "fast Q4_1 differs from the definition on the model's own weights; " + instead + " is used for it instead",
      "fast Q6_K differs from the definition on the model's own weights; " + instead + " is used for it instead",
      "exact IQ4_XS differs from the definition on the model's own weights; " + instead + " is used for it instead"};
  EXPECT_EQ(check.faults, wanted);
  KernelTable expected = broken;
  expected.fast[static_cast<int>(TensorType::kQ4_1)] = packed_row_product(0, TensorType::kQ4_1, false);
  expected.fast[static_cast<int>(TensorType::kQ6_K)] = packed_row_product(0, TensorType::kQ6_K, false);
  expected.exact[static_cast<int>(TensorType::kIQ4_XS)] = packed_row_product(0, TensorType::kIQ4_XS, true);
  EXPECT_TRUE(!best().packed || same_entries(check.table, expected));
  EXPECT_TRUE(self_test(check.table).ok()) << "the repaired table equals the definition";
}

TEST(StartCheck, ReplacesEverythingThatIsNoProductWhenOneOfItIsWrong) {
  KernelTable broken = best();
  broken.swiglu = [](const float*, const float*, int64_t, float*) noexcept {};
  const StartCheck check = start_check(broken, CacheType::kQ8_0, all_samples());
  ASSERT_EQ(check.faults.size(), 1u);
  EXPECT_EQ(check.faults[0].substr(0, 34), "swiglu differs from the definition");
  EXPECT_EQ(check.table.fast[static_cast<int>(TensorType::kQ4_K)], best().fast[static_cast<int>(TensorType::kQ4_K)]);
  EXPECT_EQ(check.table.packed, best().packed);
  EXPECT_TRUE(self_test(check.table).ok());
}

}  // namespace
}  // namespace lockstep::kernels
