#include "kernels/packed.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "forge/random_blocks.h"
#include "quant/dequantize.h"
#include "quant/format.h"

namespace lockstep::kernels {
namespace {

using quant::TensorType;

constexpr int64_t kCols = 512;

// Rows of weights whose integers have every bit set, which is no reason to be refused.
class PackedGroup : public testing::TestWithParam<TensorType> {
 protected:
  // Both verdicts on the same rows, the group's and that of the file's form.
  void expect_same_verdict(int64_t n_rows, const std::string& what) {
    const uint64_t bytes = static_cast<uint64_t>(n_rows) * row_bytes_;
    const bool wanted =
        quant::scales_are_finite(GetParam(), rows_.data(), bytes / quant::format_info(GetParam()).block_bytes);
    n_refused_ += wanted ? 0 : 1;
    pack_group(GetParam(), rows_.data(), n_rows, kCols, row_bytes_, group_.data());
    EXPECT_EQ(group_is_finite(GetParam(), group_.data(), kCols), wanted) << what;
  }

  const uint64_t row_bytes_ = quant::row_bytes(GetParam(), kCols);
  forge::RandomData random_{1};
  std::vector<std::byte> rows_ =
      forge::random_weights(GetParam(), kRowsPerGroup* kCols, forge::BlockKind::kAllOnes, random_);
  std::vector<std::byte> group_ = std::vector<std::byte>(rows_.size());
  int n_refused_ = 0;
};

TEST_P(PackedGroup, IsFiniteExactlyWhenItsRowsAre) {
  expect_same_verdict(kRowsPerGroup, "unchanged");
  ASSERT_EQ(n_refused_, 0);
  const std::vector<std::byte> unchanged = rows_;
  for (uint64_t at = 0; at + 1 < rows_.size(); ++at) {
    for (const uint16_t bits :
         {uint16_t{0x7c00}, uint16_t{0xff80}}) {  // an f16 infinity; NaN as f16, -infinity as bf16
      std::memcpy(&rows_[at], &bits, sizeof(bits));
      expect_same_verdict(kRowsPerGroup, "byte " + std::to_string(at));
      std::memcpy(&rows_[at], &unchanged[at], sizeof(bits));
    }
  }
  EXPECT_GE(n_refused_, kRowsPerGroup);
}

TEST_P(PackedGroup, RowsThatAreNotThereAreFinite) {
  expect_same_verdict(3, "three rows");
  EXPECT_EQ(n_refused_, 0);
}

INSTANTIATE_TEST_SUITE_P(Types, PackedGroup,
                         testing::Values(TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0, TensorType::kQ5_1,
                                         TensorType::kQ8_0, TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K,
                                         TensorType::kF32, TensorType::kF16, TensorType::kBF16),
                         forge::type_name);

}  // namespace
}  // namespace lockstep::kernels
