#include "sampling/token_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace lockstep::sampling {
namespace {

constexpr float kMost = std::numeric_limits<float>::max();

Candidates list_of(const std::vector<float>& logits) {
  Candidates list;
  assign_all(list, logits);
  return list;
}

TEST(Weight, IsTheExponentialInUnitsOfTwoToTheMinus30) {
  for (uint64_t i = 0; i < 200000; ++i) {
    const auto depth = static_cast<float>(uniform_draw(1, i) * 24.0);
    const double expected = std::exp(-double{depth}) * kWeightOfBest;
    ASSERT_NEAR(weight(depth), expected, 0.5 + 1.2e-6 * expected) << depth;
  }
}

TEST(Weight, IsExactForTheBestAndNothingFarBelow) {
  EXPECT_EQ(weight(0.0f), 1u << 30);
  EXPECT_EQ(weight(-0.0f), 1u << 30);
  EXPECT_EQ(weight(1e-45f), 1u << 30);
  constexpr float kAtHalfAUnit = 0x1.57cd0ep4f;  // the last float below 31 ln 2
  EXPECT_EQ(weight(kAtHalfAUnit), 1u);
  EXPECT_EQ(weight(std::nextafter(kAtHalfAUnit, kMost)), 0u);
  EXPECT_EQ(weight(22.0f), 0u);
  EXPECT_EQ(weight(kMost), 0u);
  EXPECT_EQ(weight(std::numeric_limits<float>::infinity()), 0u);
}

// A change of the order of operations, or a fused multiply-add, shows here. Through weigh, whose loop is vectorized.
TEST(Weigh, KeepsTheseBits) {
  std::vector<float> logits = {0.0f};
  for (uint64_t i = 0; i < 10001; ++i) logits.push_back(static_cast<float>(-23.0 * uniform_draw(2, i)));
  Candidates list = list_of(logits);
  const Weights weights = weigh(list);
  uint64_t hash = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    ASSERT_EQ(weights.of[i], weight(-logits[i]));
    hash = hash * 0x9E3779B97F4A7C15u + weights.of[i];
  }
  EXPECT_EQ(hash, 8137260600141155372u);
}

TEST(Weigh, SumsExactly) {
  Candidates list = list_of(std::vector<float>(200000, -3e38f));  // the sum needs more than 32 bits
  EXPECT_EQ(weigh(list).total, uint64_t{200000} << 30);
  list = list_of({kMost, -kMost, 0.0f});
  EXPECT_EQ(weigh(list).total, uint64_t{1} << 30);
  EXPECT_EQ(weigh(list).probability(0), 1.0);
  EXPECT_EQ(weigh(list).least_surprise(), 0.0);
}

TEST(Weights, GiveSumsFromOneToTheTotalForEveryShare) {
  Candidates list = list_of({1.0f, 1.0f, 1.0f, 1.0f});
  const Weights weights = weigh(list);
  const uint64_t one = 1u << 30;
  EXPECT_EQ(weights.reaching(0.5), 2 * one);
  EXPECT_EQ(weights.exceeding(0.5), 2 * one + 1);
  for (const double p : {-1e38, -1.0, 0.0}) EXPECT_EQ(weights.reaching(p), 1u);
  for (const double p : {1.0, 1e38}) EXPECT_EQ(weights.exceeding(p), weights.total);
}

TEST(MeanDepth, AndTheSurpriseOfTheBestAreTheEntropy) {
  std::vector<float> logits;
  double total = 0;
  for (uint64_t i = 0; i < 1003; ++i) logits.push_back(static_cast<float>(uniform_draw(3, i) * 12.0));
  for (const float x : logits) total += std::exp(double{x});
  double entropy = 0;
  for (const float x : logits) entropy -= std::exp(double{x}) / total * (double{x} - std::log(total));
  Candidates list = list_of(logits);
  const Weights weights = weigh(list);
  EXPECT_NEAR(mean_depth(list, weights) + weights.least_surprise(), entropy, 2e-6);
}

}  // namespace
}  // namespace lockstep::sampling
