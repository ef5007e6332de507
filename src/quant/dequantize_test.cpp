#include "quant/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "base/error.h"
#include "quant/test_data.h"

namespace lockstep::quant {
namespace {

std::vector<float> dequantize(TensorType type, const std::vector<std::byte>& row) {
  const FormatInfo& format = format_info(type);
  std::vector<float> out(row.size() / format.block_bytes * format.block_size);
  dequantize_row(type, row.data(), out.size(), out.data());
  return out;
}

// The number of weights whose bits differ.
size_t count_differences(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  size_t differences = 0;
  for (size_t i = 0; i < a.size(); ++i) differences += std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]);
  return differences;
}

std::vector<std::byte> random_bytes(size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<std::byte> bytes(n);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

class Dequantize : public testing::TestWithParam<TensorType> {
 protected:
  [[nodiscard]] std::string file(const char* suffix) const { return std::string(to_string(GetParam())) + suffix; }
};

TEST_P(Dequantize, GivesTheBitsOfTheGgufPackage) {
  const std::vector<float> expected = test::read_floats(file(".weights.f32"));
  ASSERT_GT(expected.size(), 3000u);
  const std::vector<float> weights = dequantize(GetParam(), test::read_bytes(file(".blocks")));
  EXPECT_EQ(count_differences(weights, expected), 0u);
}

// That the test above can fail: in every byte of a block a changed bit changes a weight.
TEST_P(Dequantize, NoticesEveryChangedByteOfABlock) {
  const std::vector<std::byte> row = test::read_bytes(file(".blocks"));
  const std::vector<float> expected = test::read_floats(file(".weights.f32"));
  const size_t block_bytes = format_info(GetParam()).block_bytes;
  for (size_t i = 0; i < block_bytes; ++i) {
    std::vector<std::byte> changed = row;
    // The lowest bit of each block, so that a block whose scale is zero does not hide it.
    for (size_t at = i; at < row.size(); at += block_bytes) changed[at] ^= std::byte{1};
    EXPECT_GT(count_differences(dequantize(GetParam(), changed), expected), 0u) << "byte " << i;
  }
}

// With the address sanitizer also: reads nothing past the blocks.
TEST_P(Dequantize, TakesAnyBytesAtAnyAddress) {
  const FormatInfo& format = format_info(GetParam());
  const std::vector<std::byte> row = random_bytes(7 * format.block_bytes);
  const std::vector<float> expected = dequantize(GetParam(), row);
  std::vector<std::byte> shifted(row.size() + 1);
  std::copy(row.begin(), row.end(), shifted.begin() + 1);
  std::vector<float> weights(expected.size());
  dequantize_row(GetParam(), shifted.data() + 1, weights.size(), weights.data());
  EXPECT_EQ(count_differences(weights, expected), 0u);
}

TEST_P(Dequantize, AcceptsFiniteScalesOnly) {
  const FormatInfo& format = format_info(GetParam());
  const std::vector<std::byte> row = test::read_bytes(file(".blocks"));
  const uint64_t n_blocks = row.size() / format.block_bytes;
  EXPECT_TRUE(scales_are_finite(GetParam(), row.data(), n_blocks));
  // Whatever 16 bits of the last block are set to infinity: the check tells whether a weight or the scale itself is not
  // finite.
  for (size_t i = 0; i + 1 < format.block_bytes && GetParam() != TensorType::kMXFP4; ++i) {
    std::vector<std::byte> changed = row;
    std::byte* const at = &changed[row.size() - format.block_bytes + i];
    at[0] = std::byte{0x00};
    at[1] = GetParam() == TensorType::kBF16 ? std::byte{0xff} : std::byte{0xfc};
    if (GetParam() == TensorType::kBF16) at[0] = std::byte{0x80};
    const std::vector<float> weights = dequantize(GetParam(), changed);
    const bool weights_finite = std::all_of(weights.begin(), weights.end(), [](float w) { return std::isfinite(w); });
    EXPECT_EQ(scales_are_finite(GetParam(), changed.data(), n_blocks), weights_finite) << "byte " << i;
  }
}

std::vector<TensorType> tested_types() {
  std::vector<TensorType> types = test::quantized_types();
  types.push_back(TensorType::kF16);
  types.push_back(TensorType::kBF16);
  return types;
}

INSTANTIATE_TEST_SUITE_P(Types, Dequantize, testing::ValuesIn(tested_types()), test::type_name);

TEST(DequantizeF32, CopiesEveryBit) {
  const std::vector<std::byte> row = random_bytes(4000);
  const std::vector<float> weights = dequantize(TensorType::kF32, row);
  EXPECT_EQ(std::memcmp(weights.data(), row.data(), row.size()), 0);
}

TEST(ScalesAreFinite, FindsASingleInfinityOrNanAmongF32Values) {
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> values(1000, -3.0e38f);
    EXPECT_TRUE(scales_are_finite(TensorType::kF32, reinterpret_cast<const std::byte*>(values.data()), 1000));
    values[977] = bad;
    EXPECT_FALSE(scales_are_finite(TensorType::kF32, reinterpret_cast<const std::byte*>(values.data()), 1000));
  }
}

TEST(DequantizeRow, RefusesTypesThatLockstepDoesNotComputeWith) {
  const std::vector<std::byte> row(292);
  std::vector<float> out(256);
  EXPECT_THROW(dequantize_row(TensorType::kQ8_K, row.data(), 256, out.data()), Error);
  EXPECT_THROW((void)scales_are_finite(TensorType::kI32, row.data(), 1), Error);
}

TEST(DequantizeMxfp4, ReadsExponent255AsAPowerOfTwoAndZeroAsASubnormal) {
  std::vector<std::byte> block(17, std::byte{0x21});  // integers 1 and 2
  block[0] = std::byte{255};
  EXPECT_EQ(dequantize(TensorType::kMXFP4, block)[0], 0x1p127f);
  block[0] = std::byte{0};
  EXPECT_EQ(dequantize(TensorType::kMXFP4, block)[16], 0x1p-127f);
}

}  // namespace
}  // namespace lockstep::quant
