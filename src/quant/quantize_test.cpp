#include "quant/quantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/error.h"
#include "quant/dequantize.h"
#include "quant/test_data.h"

namespace lockstep::quant {
namespace {

std::vector<std::byte> quantize(TensorType type, const std::vector<float>& x) {
  std::vector<std::byte> out(row_bytes(type, x.size()));
  quantize_row(type, x.data(), x.size(), out.data());
  return out;
}

class Quantize : public testing::TestWithParam<TensorType> {};

TEST_P(Quantize, GivesTheBytesOfTheGgufPackage) {
  const std::vector<float> numbers = test::read_floats("numbers.f32");
  ASSERT_EQ(numbers.size(), 96u * 32u);
  EXPECT_EQ(quantize(GetParam(), numbers), test::read_bytes(std::string(to_string(GetParam())) + ".quantized"));
}

TEST_P(Quantize, TurnsNumbersTooSmallForTheTypeIntoFiniteScales) {
  for (const float tiny : {1e-45f, -1e-40f, 1e-38f}) {
    std::vector<float> x(32, tiny);
    x[5] = 0.0f;
    EXPECT_TRUE(scales_are_finite(GetParam(), quantize(GetParam(), x).data(), 32 / format_info(GetParam()).block_size));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Quantize,
                         testing::Values(TensorType::kF16, TensorType::kBF16, TensorType::kQ4_0, TensorType::kQ4_1,
                                         TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ8_0),
                         test::type_name);

TEST(QuantizeRow, IsUndoneByDequantizeRowForNumbersOnTheGrid) {
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i) x[i] = 0.5f * static_cast<float>(i % 16 - 8);  // -4 is code 0 of Q4_0
  std::vector<float> back(32);
  dequantize_row(TensorType::kQ4_0, quantize(TensorType::kQ4_0, x).data(), 32, back.data());
  EXPECT_EQ(back, x);
}

TEST(QuantizeRow, RefusesTypesWithoutAQuantizer) {
  const std::vector<float> x(256);
  std::vector<std::byte> out(256);
  EXPECT_THROW(quantize_row(TensorType::kQ4_K, x.data(), x.size(), out.data()), Error);
}

TEST(F32ToBf16, RoundsToNearestEvenAndKeepsNanQuiet) {
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // a tie, down to even
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);  // a tie, up to even
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7f7fffffu)), 0x7f80);  // the largest number becomes infinity
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xff800001u)), 0xffc0);  // a signalling NaN
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x00018000u)), 0x0002);  // subnormals are kept
}

}  // namespace
}  // namespace lockstep::quant
