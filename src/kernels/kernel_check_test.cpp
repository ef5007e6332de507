#include "kernels/kernel_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/select.h"
#include "quant/tensor_type.h"

namespace lockstep::kernels {
namespace {

TEST(SelfTest, PassesForEveryTableOfThisBinary) {
  for (const KernelTable* table : available_tables()) {
    const SelfTestResult result = self_test(*table);
    EXPECT_TRUE(result.ok()) << table->isa << ": " << (result.ok() ? "" : result.failures.front());
    EXPECT_GT(result.checks, 70) << table->isa;
  }
}

// The last bit of one output is flipped.
void wrong_product(const LinearJob& job) noexcept {
  available_tables().front()->fast[static_cast<int>(quant::TensorType::kQ4_K)](job);
  float& last = job.out[job.row_end - 1];
  last = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, last) ^ 1u);
}

void wrong_add(float* x, const float* y, int64_t n) noexcept {
  for (int64_t i = 0; i + 1 < n; ++i) x[i] += y[i];
}

bool wrong_quantize(const float* x, int64_t n, int8_t* q, float* scale, int32_t* sum) noexcept {
  const bool finite = available_tables().front()->quantize(x, n, q, scale, sum);
  sum[n / kSumGroup - 1] += 1;
  return finite;
}

TEST(SelfTest, NamesTheProductThatIsWrongInOneBit) {
  KernelTable table = *available_tables().front();
  table.fast[static_cast<int>(quant::TensorType::kQ4_K)] = wrong_product;
  const int64_t by_panel = table.most_streamed[static_cast<int>(quant::TensorType::kQ4_K)] + 5;
  const std::vector<std::string> wanted = {"fast Q4_K, 1 tokens", fmt::format("fast Q4_K, {} tokens", by_panel)};
  EXPECT_EQ(self_test(table).failures, wanted);
}

TEST(SelfTest, NamesEveryOperationThatIsWrongOrMissing) {
  KernelTable table = *available_tables().front();
  table.add = wrong_add;
  table.quantize = wrong_quantize;
  table.exact[static_cast<int>(quant::TensorType::kF16)] = nullptr;
  table.swiglu = [](const float*, const float*, int64_t, float*) noexcept {};
  table.finish_attention = [](const AttentionPartial&, float*, int64_t) noexcept {};
  const std::vector<std::string> wanted = {
      "quantize", "exact F16, 1 tokens: missing", "exact F16, 5 tokens: missing", "swiglu",
      "add",      "merge of attention chunks"};
  EXPECT_EQ(self_test(table).failures, wanted);
}

}  // namespace
}  // namespace lockstep::kernels
