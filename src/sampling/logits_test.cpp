#include "sampling/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"

namespace lockstep::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Logits rounded to 1/8, so that many are equal.
std::vector<float> random_logits(size_t n, uint64_t seed) {
  std::vector<float> logits(n);
  for (size_t i = 0; i < n; ++i)
    logits[i] = std::round(static_cast<float>(uniform_draw(seed, i)) * 160.0f - 80.0f) / 8.0f;
  return logits;
}

std::vector<Candidate> sorted_copy(const std::vector<float>& logits) {
  Candidates all;
  assign_all(all, logits);
  std::vector<Candidate> sorted;
  for (size_t i = 0; i < all.size(); ++i) sorted.push_back(all[i]);
  std::sort(sorted.begin(), sorted.end(), ranks_before);
  return sorted;
}

ErrorCode code_of(const std::vector<float>& logits) {
  try {
    check_logits(logits);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.code();
  }
  return ErrorCode::kUsage;  // stands for "passed"
}

TEST(CheckLogits, RefusesNanAndPlusInfinityAndNothingPossible) {
  EXPECT_EQ(code_of({0.0f, -kInf, 1.0f}), ErrorCode::kUsage);
  EXPECT_EQ(code_of({0.0f, kNaN, 1.0f}), ErrorCode::kNotFinite);
  EXPECT_EQ(code_of({0.0f, kInf, 1.0f}), ErrorCode::kNotFinite);
  EXPECT_EQ(code_of({-kInf, -kInf}), ErrorCode::kNotFinite);
  EXPECT_EQ(code_of({}), ErrorCode::kNotFinite);
}

TEST(CheckLogits, NamesTheFirstBadToken) {
  try {
    check_logits(std::vector<float>{0.0f, 1.0f, kNaN, kInf});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("non-finite logits: token 2 has nan"), std::string::npos) << error.what();
  }
}

TEST(Argmax, IsTheFirstOfEqualMaximaWhereverItStands) {
  for (size_t n = 1; n <= 70; ++n) {
    for (size_t first = 0; first < n; ++first) {
      std::vector<float> logits(n, -1.0f);
      logits[first] = 2.0f;
      logits[n - 1] = 2.0f;
      ASSERT_EQ(argmax(logits), static_cast<TokenId>(first));
    }
  }
}

TEST(Argmax, WorksBelowZeroAndTakesZerosOfBothSignsAsEqual) {
  EXPECT_EQ(argmax(std::vector<float>{-5.0f, -3.0f, -kInf, -3.0f}), 1);
  EXPECT_EQ(argmax(std::vector<float>{-0.0f, 0.0f}), 0);
}

TEST(TopKOf, EqualsAFullSortForEveryK) {
  for (const size_t n : {1u, 5u, 255u, 256u, 257u, 3000u}) {
    const std::vector<float> logits = random_logits(n, n);
    const std::vector<Candidate> expected = sorted_copy(logits);
    for (const size_t k : {0u, 1u, 2u, 40u, 200u, 256u, 1000u, 2999u, 1000000000u}) {
      const std::vector<Candidate> best = top_k_of(logits, k);
      ASSERT_EQ(best.size(), std::min<size_t>(k, n));
      for (size_t i = 0; i < best.size(); ++i) ASSERT_EQ(best[i].id, expected[i].id) << n << " " << k << " " << i;
    }
  }
}

TEST(TopKOf, TakesLowestIdsWhenAllAreEqualAndSkipsTheImpossible) {
  std::vector<float> logits(5000, 1.0f);
  logits[0] = -kInf;
  const std::vector<Candidate> best = top_k_of(logits, 3);
  ASSERT_EQ(best.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(best[i].id, static_cast<TokenId>(i + 1));
}

TEST(TopKOf, WorksWhenEveryLogitIsBetterThanTheOneBefore) {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i);
  const std::vector<Candidate> best = top_k_of(logits, 40);
  for (size_t i = 0; i < 40; ++i) ASSERT_EQ(best[i].id, static_cast<TokenId>(4999 - i));
}

TEST(LogSoftmax, AgreesWithLongDoubleArithmetic) {
  for (const size_t n : {1u, 7u, 8u, 1003u}) {
    const std::vector<float> logits = random_logits(n, 77 + n);
    long double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<long double>(x));
    EXPECT_NEAR(log_sum_exp(logits), static_cast<double>(std::log(sum)), 1e-13);
    const TokenId last = static_cast<TokenId>(n - 1);
    EXPECT_NEAR(log_softmax(logits, std::vector<TokenId>{last})[0], static_cast<double>(logits[n - 1] - std::log(sum)),
                1e-13);
  }
}

TEST(LogSoftmax, StaysFiniteForHugeLogitsAndGivesMinusInfinityForTheImpossible) {
  const std::vector<float> logits = {3e38f, -kInf, -3e38f};
  const std::vector<double> logprobs = log_softmax(logits, std::vector<TokenId>{0, 1, 2});
  EXPECT_EQ(logprobs[0], 0.0);
  EXPECT_EQ(logprobs[1], -std::numeric_limits<double>::infinity());
  EXPECT_LT(logprobs[2], -1e38);
}

TEST(LogSoftmax, RefusesIdsOutsideTheVocabulary) {
  const std::vector<float> logits = {0.0f, 1.0f};
  EXPECT_THROW((void)log_softmax(logits, std::vector<TokenId>{2}), Error);
  EXPECT_THROW((void)log_softmax(logits, std::vector<TokenId>{-1}), Error);
  EXPECT_THROW((void)step_logprobs(logits, 2, 1), Error);
}

TEST(StepLogprobs, GivesTheChosenAndTheBestInOrder) {
  const std::vector<float> logits = {0.0f, 2.0f, 2.0f, 1.0f};
  const StepLogprobs step = step_logprobs(logits, 3, 10);
  ASSERT_EQ(step.top.size(), 4u);
  EXPECT_EQ(step.top[0].id, 1);
  EXPECT_EQ(step.top[1].id, 2);
  EXPECT_EQ(step.top[2].id, 3);
  EXPECT_EQ(step.chosen.logprob, step.top[2].logprob);
  double sum = 0;
  for (const TokenLogprob& entry : step.top) sum += std::exp(entry.logprob);
  EXPECT_NEAR(sum, 1.0, 1e-14);
  EXPECT_TRUE(step_logprobs(logits, 3, 0).top.empty());
}

}  // namespace
}  // namespace lockstep::sampling
