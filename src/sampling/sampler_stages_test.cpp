// The sampler with the stages that need more than the logits: a history, a second random number, a state.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/random.h"
#include "sampling/sampler.h"

namespace lockstep::sampling {
namespace {

SamplingParams greedy() {
  SamplingParams params;
  params.temp = 0.0f;
  return params;
}

// Draws from the whole distribution: no stage removes anything.
SamplingParams open_params() {
  SamplingParams params;
  params.temp = 1.0f;
  params.top_k = 0;
  params.top_p = 1.0f;
  params.min_p = 0.0f;
  return params;
}

TokenId sample_after(const SamplingParams& params, const std::vector<TokenId>& history,
                     const std::vector<float>& logits) {
  Sampler sampler(params, static_cast<int32_t>(logits.size()));
  for (const TokenId id : history) sampler.accept(id);
  return sampler.sample(logits, 0);
}

std::set<TokenId> drawn(const SamplingParams& params, const std::vector<float>& logits) {
  Sampler sampler(params, static_cast<int32_t>(logits.size()));
  std::set<TokenId> ids;
  for (uint64_t step = 0; step < 300; ++step) ids.insert(sampler.sample(logits, step));
  return ids;
}

TEST(Sampler, PenalizesGreedyChoicesByTheLastTokensOnly) {
  SamplingParams params = greedy();
  params.repeat_penalty = 2.0f;
  const std::vector<float> logits = {1.0f, 3.0f, 2.0f};
  EXPECT_EQ(sample_after(params, {}, logits), 1);
  EXPECT_EQ(sample_after(params, {1}, logits), 2);
  params.repeat_last_n = 2;
  EXPECT_EQ(sample_after(params, {1, 0, 0}, logits), 1);
  EXPECT_EQ(sample_after(params, {0, 0, 1}, logits), 2);
  params.repeat_last_n = -1;  // everything
  EXPECT_EQ(sample_after(params, {1, 0, 0}, logits), 2);
  params.repeat_last_n = 0;  // off
  EXPECT_EQ(sample_after(params, {1}, logits), 1);
  EXPECT_TRUE(Sampler(params, 3).is_greedy());
}

TEST(B37, ExtremePenaltiesStillGiveTheBestOfWhatTheyLeave) {
  const std::vector<float> logits = {1.0f, 3.0f, 2.0f, -1.0f};
  for (const float temp : {0.0f, 0.8f}) {
    SamplingParams params;
    params.temp = temp;
    params.repeat_last_n = std::numeric_limits<int32_t>::max();  // a window of 2^31 - 1 takes no memory
    params.repeat_penalty = 1e38f;
    params.min_p = 1.0f;
    EXPECT_EQ(sample_after(params, {0, 1, 2, 3}, logits), 1) << temp;
    params.repeat_penalty = 1e-9f;
    EXPECT_EQ(sample_after(params, {0, 2}, logits), 2) << temp;
    params.repeat_penalty = 1.0f;
    params.frequency_penalty = 100.0f;
    EXPECT_EQ(sample_after(params, {1, 2, 2}, logits), 0) << temp;
    params.frequency_penalty = -100.0f;
    EXPECT_EQ(sample_after(params, {3, 3, 2}, logits), 3) << temp;
    params.frequency_penalty = std::numeric_limits<float>::max();
    params.presence_penalty = -std::numeric_limits<float>::max();
    EXPECT_EQ(sample_after(params, {0, 1, 2, 3, 3}, logits), 1) << temp;  // one occurrence: nothing changes
  }
}

TEST(Sampler, DryLowersAContinuedRepetition) {
  SamplingParams params = greedy();
  params.dry_multiplier = 1.0f;
  const std::vector<float> logits = {1.0f, 1.5f, 1.0f, 1.0f};
  EXPECT_EQ(sample_after(params, {2, 3, 1, 2, 3}, logits), 0);
  EXPECT_EQ(sample_after(params, {2, 0, 1, 2, 3}, logits), 1);
  params.dry_breakers = {{3}, {2}};  // need not be sorted
  EXPECT_EQ(sample_after(params, {2, 3, 1, 2, 3}, logits), 1);
  params.dry_breakers = {};
  params.dry_penalty_last_n = 3;
  EXPECT_EQ(sample_after(params, {2, 3, 1, 2, 3}, logits), 1);
}

TEST(Sampler, TypicalMayRemoveTheBestEvenWhenGreedy) {
  SamplingParams params = greedy();
  params.typical = 0.2f;
  const std::vector<float> logits = {std::log(0.7f), std::log(0.1f), std::log(0.1f), std::log(0.1f)};
  EXPECT_EQ(sample_after(params, {}, logits), 0);
  std::vector<float> flat(20, std::log(0.03f));
  flat[7] = std::log(0.4f);
  EXPECT_EQ(sample_after(params, {}, flat), 0);  // surprise 3.5 is closer to the entropy of 2.5 than 0.9 is
}

TEST(Sampler, XtcActsInAsManyStepsAsItsProbabilitySays) {
  SamplingParams params = greedy();
  params.xtc_probability = 0.25f;
  const std::vector<float> logits = {std::log(0.6f), std::log(0.4f)};
  Sampler sampler(params, 2);
  int acted = 0;
  for (uint64_t step = 0; step < 4000; ++step) {
    const bool acts = uniform_draw(params.seed, step, RandomStream::kXtc) < 0.25;
    ASSERT_EQ(sampler.sample(logits, step), acts ? 1 : 0);
    acted += acts ? 1 : 0;
  }
  EXPECT_NEAR(acted, 1000, 140);
}

TEST(Sampler, RunsItsStagesInTheGivenOrder) {
  SamplingParams params = open_params();
  params.top_k = 2;
  params.min_p = 0.0f;
  params.top_p = 0.55f;
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.3f)};
  params.stages = parse_stages("top_p;top_k");  // 0.4 + 0.3 reach 0.55
  EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{0, 1}));
  params.stages = parse_stages("top_k;top_p");  // 0.4 of 0.7 reach it alone
  EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{0}));
  params.stages = {};
  EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{0, 1, 2}));
}

TEST(Sampler, TheDirectWayToTheKBestGivesTheSameTokens) {
  SamplingParams direct;
  SamplingParams detour = direct;
  detour.logit_bias = {{5, 0.0f}};  // builds the list of all candidates first
  std::vector<float> logits;
  for (uint64_t i = 0; i < 3000; ++i)
    logits.push_back(std::round(static_cast<float>(uniform_draw(3, i)) * 64.0f) / 16.0f);
  Sampler a(direct, 3000);
  Sampler b(detour, 3000);
  for (uint64_t step = 0; step < 100; ++step) ASSERT_EQ(a.sample(logits, step), b.sample(logits, step));
}

TEST(Sampler, DynamicTemperatureIsHotterWhereTheListIsUncertain) {
  SamplingParams params = open_params();
  params.temp = 0.5f;
  params.dynatemp_range = 0.5f;
  const std::vector<float> certain = {30.0f, 0.0f, 0.0f};
  const std::vector<float> uncertain = {1.0f, 0.5f, 0.0f};
  EXPECT_EQ(drawn(params, certain), (std::set<TokenId>{0}));
  EXPECT_EQ(drawn(params, uncertain), (std::set<TokenId>{0, 1, 2}));
  params.temp = 0.0f;  // from 0 to 0.5: not greedy
  EXPECT_FALSE(Sampler(params, 3).is_greedy());
  EXPECT_GT(drawn(params, uncertain).size(), 1u);
}

TEST(Sampler, MirostatHoldsTheSurpriseNearItsTarget) {
  std::vector<float> logits;
  for (int i = 1; i <= 2000; ++i) logits.push_back(-std::log(static_cast<float>(i)));
  for (const int32_t version : {1, 2}) {
    SamplingParams params = open_params();
    params.top_k = 1;  // replaced, like every other stage but the temperature
    params.mirostat = version;
    params.mirostat_tau = 3.0f;
    Sampler sampler(params, 2000);
    TokenId highest = 0;
    double ids = 0;
    for (uint64_t step = 0; step < 2000; ++step) {
      const TokenId id = sampler.sample(logits, step);
      if (step >= 200) highest = std::max(highest, id);
      ids += id;
    }
    EXPECT_GT(highest, 8) << version;    // more than top_k 1 would give
    EXPECT_LT(highest, 200) << version;  // and far from the whole list
    EXPECT_GT(ids, 0);
    params.temp = 0.0f;
    EXPECT_TRUE(Sampler(params, 2000).is_greedy());
  }
}

}  // namespace
}  // namespace lockstep::sampling
