#include "base/checked.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Checked, AddsUpToTheLargestNumberAndNoFurther) {
  EXPECT_EQ(checked_add(2, 3), 5u);
  EXPECT_EQ(checked_add(kMax, 0), kMax);
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_FALSE(checked_add(kMax, 1));
  EXPECT_FALSE(checked_add(1, kMax));
  EXPECT_FALSE(checked_add(kMax, kMax));
}

TEST(Checked, MultipliesUpToTheLargestNumberAndNoFurther) {
  EXPECT_EQ(checked_mul(6, 7), 42u);
  EXPECT_EQ(checked_mul(kMax, 0), 0u);
  EXPECT_EQ(checked_mul(0, kMax), 0u);
  EXPECT_EQ(checked_mul(kMax, 1), kMax);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1), kMax - (uint64_t{1} << 32) + 1);
  EXPECT_FALSE(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32));
  EXPECT_FALSE(checked_mul(kMax / 2 + 1, 2));
}

TEST(Checked, RoundsUpWithoutWrapping) {
  EXPECT_EQ(checked_round_up(0, 32), 0u);
  EXPECT_EQ(checked_round_up(1, 32), 32u);
  EXPECT_EQ(checked_round_up(32, 32), 32u);
  EXPECT_EQ(checked_round_up(kMax - 31, 32), kMax - 31);
  EXPECT_FALSE(checked_round_up(kMax - 30, 32));
  EXPECT_EQ(checked_round_up(kMax, 1), kMax);
  EXPECT_EQ(round_up(33, 32), 64);
  EXPECT_EQ(ceil_div(33, 32), 2);
  EXPECT_EQ(ceil_div(0, 32), 0);
}

TEST(Checked, CastsOnlyWhatFits) {
  EXPECT_EQ(checked_cast<uint8_t>(255), 255);
  EXPECT_FALSE(checked_cast<uint8_t>(256));
  EXPECT_FALSE(checked_cast<uint8_t>(-1));
  EXPECT_FALSE(checked_cast<uint64_t>(int64_t{-1}));
  EXPECT_FALSE(checked_cast<int64_t>(kMax));
  EXPECT_EQ(checked_cast<int64_t>(kMax / 2), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(checked_cast<int8_t>(-128), -128);
  EXPECT_FALSE(checked_cast<int8_t>(-129));
}

}  // namespace
}  // namespace lockstep
