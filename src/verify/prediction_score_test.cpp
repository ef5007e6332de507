#include "verify/prediction_score.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::verify {
namespace {

std::vector<float> logits_of(const std::vector<double>& probabilities, double shift) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + shift));
  return logits;
}

TEST(LikelihoodSum, OfAUniformGuessIsTheNumberOfTokens) {
  LikelihoodSum sum;
  for (int32_t next = 0; next < 50; ++next) sum.add(std::vector<float>(50, 3.5f), next);
  EXPECT_EQ(sum.count(), 50);
  EXPECT_NEAR(sum.perplexity(), 50, 1e-12);
  EXPECT_NEAR(sum.standard_error(), 0, 1e-6);
}

// -ln p: ln 2, ln 8; the mean is ln 4, the variance (ln 2)^2.
TEST(LikelihoodSum, HasTheStandardErrorOfTheMeanTimesItsValue) {
  LikelihoodSum sum;
  const std::vector<float> logits = logits_of({0.5, 0.125, 0.375}, -7);
  sum.add(logits, 0);
  EXPECT_TRUE(std::isnan(sum.standard_error()));
  sum.add(logits, 1);
  EXPECT_NEAR(sum.perplexity(), 4, 1e-6);
  EXPECT_NEAR(sum.standard_error(), 4 * std::log(2.0), 1e-5);
}

TEST(KlDivergence, IsThatOfTheDefinitionAndZeroForEqualLogits) {
  const std::vector<double> p = {0.7, 0.2, 0.1};
  const std::vector<double> q = {0.4, 0.35, 0.25};
  double wanted = 0;
  for (size_t i = 0; i < p.size(); ++i) wanted += p[i] * std::log(p[i] / q[i]);
  EXPECT_NEAR(kl_divergence(logits_of(p, 4), logits_of(q, -2)), wanted, 1e-6);
  EXPECT_EQ(kl_divergence(logits_of(p, 4), logits_of(p, 4)), 0);
}

// 101 positions with divergences that rise: the 99th of a hundred steps is the last but one.
TEST(DivergenceSum, GivesMeanPercentileLargestAndShareOfEqualBestTokens) {
  DivergenceSum sum;
  const std::vector<float> base = {0.0f, -0.5f, -5.0f};
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i) {
    const std::vector<float> logits = {0.0f, -0.5f + 0.01f * static_cast<float>(i), -5.0f};
    sum.add(base, logits);
    values.push_back(kl_divergence(base, logits));
  }
  double total = 0;
  for (const double value : values) total += value;
  const Divergence got = sum.result();
  EXPECT_EQ(got.mean, total / 101);
  EXPECT_EQ(got.max, values.back());
  EXPECT_EQ(got.p99, values[99]);
  EXPECT_NEAR(got.same_top, 51.0 / 101, 1.0 / 101) << "equal logits: the lower id is the best";
}

}  // namespace
}  // namespace lockstep::verify
