#include "base/random.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// The three known-answer vectors that Random123 publishes for philox4x32-10 (tests/kat_vectors).
TEST(Philox, MeetsTheKnownAnswersOfRandom123) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const uint32_t ones = 0xffffffffu;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}),
            (PhiloxCounter{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(UniformDraw, IsTheFirstTwoWordsOfTheBlockScaledTo53Bits) {
  const uint64_t bits = (uint64_t{0x6627e8d5u} << 32) | 0xe169c58du;
  EXPECT_EQ(uniform_draw(0, 0), static_cast<double>(bits >> 11) / 9007199254740992.0);
}

TEST(UniformDraw, UsesAllBitsOfSeedStepAndStream) {
  const double base = uniform_draw(7, 3);
  EXPECT_EQ(base, uniform_draw(7, 3));
  EXPECT_NE(base, uniform_draw(7 + (uint64_t{1} << 32), 3));
  EXPECT_NE(base, uniform_draw(8, 3));
  EXPECT_NE(base, uniform_draw(7, 3 + (uint64_t{1} << 32)));
  EXPECT_NE(base, uniform_draw(7, 4));
  EXPECT_NE(base, uniform_draw(7, 3, RandomStream::kXtc));
}

TEST(UniformDraw, Carries53Bits) {
  int odd = 0;
  for (uint64_t step = 0; step < 1000; ++step)
    odd += static_cast<int>(static_cast<uint64_t>(uniform_draw(5, step) * 0x1p53) & 1u);
  EXPECT_NEAR(odd, 500, 80);
}

TEST(UniformDraw, SpreadsEvenlyOverTheUnitInterval) {
  constexpr int kBins = 16;
  constexpr int kDraws = 16000;
  int count[kBins] = {};
  for (uint64_t step = 0; step < kDraws; ++step) {
    const double u = uniform_draw(42, step);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++count[static_cast<int>(u * kBins)];
  }
  for (const int n : count) EXPECT_NEAR(n, kDraws / kBins, 150);  // five standard deviations
}

}  // namespace
}  // namespace lockstep
