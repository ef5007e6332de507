#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace lockstep {
namespace {

// What the 16 bits mean by IEEE 754: no tables, no shifting of mantissas.
double value_of(uint16_t h) {
  const double sign = (h & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = (h >> 10) & 31;
  const int mantissa = h & 1023;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

bool is_special(uint16_t h) {
  return (h & 0x7c00) == 0x7c00;
}

TEST(Half, ConvertsEveryHalfToItsValueAndBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto h = static_cast<uint16_t>(i);
    const float f = f16_to_f32(h);
    if (is_special(h)) continue;
    ASSERT_EQ(static_cast<double>(f), value_of(h)) << i;
    ASSERT_EQ(std::signbit(f), (h & 0x8000) != 0) << i;
    ASSERT_EQ(f32_to_f16(f), h) << i;
  }
}

TEST(Half, KeepsInfinitiesAndQuietsNaNs) {
  EXPECT_EQ(f16_to_f32(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(f16_to_f32(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity()), 0xfc00);
  for (uint32_t mantissa = 1; mantissa < 1024; ++mantissa) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      const auto h = static_cast<uint16_t>(sign | 0x7c00u | mantissa);
      const float f = f16_to_f32(h);
      EXPECT_TRUE(std::isnan(f));
      EXPECT_NE(std::bit_cast<uint32_t>(f) & 0x400000u, 0u);
      EXPECT_EQ(f32_to_f16(f), h | 0x200u);
    }
  }
}

// Between two neighbours: below the middle down, above it up, the middle itself to the even one.
TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t i = 0; i < 0x7bff; ++i) {
    const auto low = static_cast<uint16_t>(i);
    const auto high = static_cast<uint16_t>(i + 1);
    const auto middle = static_cast<float>((value_of(low) + value_of(high)) / 2);  // 12 bits: exact
    ASSERT_EQ(f32_to_f16(middle), i % 2 == 0 ? low : high) << i;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), low) << i;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), high) << i;
    ASSERT_EQ(f32_to_f16(-middle), (i % 2 == 0 ? low : high) | 0x8000) << i;
  }
}

TEST(Half, OverflowsToInfinityFromHalfAStepPastTheLargest) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(3e38f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-65520.0f), 0xfc00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);  // the middle between 0 and the smallest
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(f32_to_f16(1e-45f), 0);
  EXPECT_EQ(f32_to_f16(-1e-45f), 0x8000);
}

TEST(Half, RoundsRandomFloatsToTheNearestHalf) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000000; ++i) {
    const auto f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!(std::fabs(f) < 65504.0f)) continue;
    const uint16_t h = f32_to_f16(f);
    const double error = std::fabs(value_of(h) - static_cast<double>(f));
    const auto up = static_cast<uint16_t>(h + 1);
    if (!is_special(up)) {
      ASSERT_LE(error, std::fabs(value_of(up) - static_cast<double>(f)));
    }
    if ((h & 0x7fff) != 0) {
      ASSERT_LE(error, std::fabs(value_of(static_cast<uint16_t>(h - 1)) - static_cast<double>(f)));
    }
  }
}

TEST(BFloat16, IsTheUpperHalfOfAFloatAndNotAHalf) {
  EXPECT_EQ(bf16_to_f32(0x3f80), 1.0f);
  EXPECT_EQ(bf16_to_f32(0xc000), -2.0f);
  EXPECT_EQ(bf16_to_f32(0x0001), 0x1p-133f);
  EXPECT_NE(f16_to_f32(0x3f80), 1.0f);
  for (uint32_t i = 0; i < 65536; ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(bf16_to_f32(static_cast<uint16_t>(i))), i << 16);
}

}  // namespace
}  // namespace lockstep
