#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "sampling/logits.h"

namespace lockstep::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TokenId sample_once(const SamplingParams& params, const std::vector<float>& logits, uint64_t step = 0) {
  return Sampler(params, static_cast<int32_t>(logits.size())).sample(logits, step);
}

// Every token that 300 steps draw.
std::set<TokenId> drawn(const SamplingParams& params, const std::vector<float>& logits) {
  Sampler sampler(params, static_cast<int32_t>(logits.size()));
  std::set<TokenId> ids;
  for (uint64_t step = 0; step < 300; ++step) ids.insert(sampler.sample(logits, step));
  return ids;
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

SamplingParams params_from(const nlohmann::json& line) {
  SamplingParams params;
  const auto& values = line.at("params");
  params.seed = line.at("seed").get<uint64_t>();
  params.temp = values.at("temp").get<float>();
  params.top_k = values.at("top_k").get<int32_t>();
  params.top_p = values.at("top_p").get<float>();
  params.min_p = values.at("min_p").get<float>();
  if (values.contains("logit_bias")) {
    for (const auto& [id, bias] : values.at("logit_bias").items())
      params.logit_bias.push_back({std::stoi(id), bias.get<float>()});
  }
  return params;
}

// The formula of tools/make_sampling_vectors.py.
std::vector<float> vector_logits(int n, int salt) {
  std::vector<float> logits;
  for (int i = 0; i < n; ++i) logits.push_back(static_cast<float>((i * 7919 + salt * 104729) % 641 - 320) / 64.0f);
  return logits;
}

// tests/data/sampling/draws.jsonl was computed by tools/make_sampling_vectors.py, which shares nothing with this code.
// Many of its steps lie so near a boundary that weights in double precision would draw another token.
TEST(Sampler, DrawsTheTokensOfAnIndependentImplementation) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "../../tests/data/sampling/draws.jsonl";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  int cases = 0;
  for (std::string text; std::getline(file, text); ++cases) {
    const auto line = nlohmann::json::parse(text);
    const auto logits = vector_logits(line.at("n").get<int>(), line.at("salt").get<int>());
    Sampler sampler(params_from(line), static_cast<int32_t>(logits.size()));
    std::vector<TokenId> ids;
    for (const auto& step : line.at("steps")) ids.push_back(sampler.sample(logits, step.get<uint64_t>()));
    EXPECT_EQ(ids, line.at("ids").get<std::vector<TokenId>>()) << text;
  }
  EXPECT_EQ(cases, 30);
}

TEST(Sampler, StepsCanBeAskedInAnyOrderAndAgain) {
  const std::vector<float> logits = vector_logits(200, 1);
  Sampler forward(open_params(), 200);
  Sampler backward(open_params(), 200);
  std::vector<TokenId> ids(20);
  for (uint64_t step = 0; step < 20; ++step) ids[step] = forward.sample(logits, step);
  for (uint64_t step = 20; step-- > 0;) EXPECT_EQ(backward.sample(logits, step), ids[step]);
  EXPECT_GT(std::set<TokenId>(ids.begin(), ids.end()).size(), 5u);
}

TEST(Sampler, AShortlistChangesNoChoice) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> logit(0, 200);  // many equal logits
  for (const float temp : {0.0f, 0.8f, 2.0f}) {
    for (const int32_t top_k : {0, 1, 40, 64, 65}) {
      SamplingParams params;
      params.temp = temp;
      params.top_k = top_k;
      std::vector<float> logits(5000);
      for (float& value : logits) value = static_cast<float>(logit(random)) / 10.0f;
      std::vector<Candidate> shortlist = top_k_of(logits, Sampler::kShortlist + 17);
      std::shuffle(shortlist.begin(), shortlist.end(), random);
      Sampler sampler(params, 5000);
      for (uint64_t step = 0; step < 50; ++step) {
        EXPECT_EQ(sampler.sample(logits, shortlist, step), sampler.sample(logits, step)) << temp << ' ' << top_k;
      }
    }
  }
}

SamplingParams lowering_params(int32_t top_k) {
  SamplingParams params = open_params();
  params.temp = 2;
  params.top_k = top_k;
  params.repeat_last_n = -1;
  params.repeat_penalty = 1.3f;
  params.presence_penalty = 4;
  params.dry_multiplier = 1;
  params.dry_allowed_length = 0;
  return params;
}

// Penalties, DRY and forbidden tokens come before top-k: when they lower many of the best, others rise to the k best
// that no shortlist has.
TEST(Sampler, AShortlistChangesNoChoiceAfterLoweredLogits) {
  std::mt19937 random(6);
  std::uniform_int_distribution<int> logit(-100, 100);
  std::vector<float> logits(2000);
  for (const int32_t top_k : {1, 40, 64}) {
    for (const size_t n_lowered : {0u, 3u, 20u, 30u, 60u, 70u}) {
      for (float& value : logits) value = static_cast<float>(logit(random)) / 10.0f;
      std::vector<Candidate> shortlist = top_k_of(logits, Sampler::kShortlist + 17);
      SamplingParams params = lowering_params(top_k);
      if (n_lowered % 20 == 0) params.logit_bias = {{shortlist[0].id, -kInf}, {shortlist[5].id, -9.0f}, {1999, -1.0f}};
      Sampler sampler(params, 2000);
      for (size_t i = 0; i < n_lowered; ++i) sampler.accept(shortlist[i].id);
      std::shuffle(shortlist.begin(), shortlist.end(), random);
      for (uint64_t step = 0; step < 50; ++step) {
        EXPECT_EQ(sampler.sample(logits, shortlist, step), sampler.sample(logits, step)) << top_k << ' ' << n_lowered;
      }
    }
  }
}

TEST(Sampler, FollowsTheDistribution) {
  const std::vector<float> logits = {std::log(0.1f), std::log(0.6f), std::log(0.3f)};
  Sampler sampler(open_params(), 3);
  int count[3] = {};
  for (uint64_t step = 0; step < 10000; ++step) ++count[sampler.sample(logits, step)];
  EXPECT_NEAR(count[0], 1000, 150);
  EXPECT_NEAR(count[1], 6000, 250);
  EXPECT_NEAR(count[2], 3000, 250);
}

TEST(Sampler, NeverDrawsAnImpossibleToken) {
  EXPECT_EQ(drawn(open_params(), {-kInf, 1.0f, -kInf, 1.0f}), (std::set<TokenId>{1, 3}));
}

TEST(Sampler, RefusesNonFiniteLogitsAndStaysUsable) {
  for (const float temp : {0.0f, 1.0f}) {
    SamplingParams params = open_params();
    params.temp = temp;
    Sampler sampler(params, 3);
    for (const auto& bad : std::vector<std::vector<float>>{{0, kNaN, 1}, {0, kInf, 1}, {-kInf, -kInf, -kInf}}) {
      try {
        (void)sampler.sample(bad, 0);
        FAIL();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kNotFinite);
      }
    }
    EXPECT_EQ(sampler.sample(std::vector<float>{0.0f, 90.0f, 1.0f}, 0), 1);
  }
}

TEST(Sampler, RefusesLogitsOfAnotherVocabulary) {
  Sampler sampler(open_params(), 3);
  const std::vector<float> logits = {0.0f, 1.0f};
  const std::vector<Candidate> shortlist = {{1, 1.0f}};
  EXPECT_THROW((void)sampler.sample(logits, 0), Error);
  EXPECT_THROW((void)sampler.sample(logits, shortlist, 0), Error);
}

TEST(LogitBias, MovesTheGreedyChoiceAndMinusInfinityForbids) {
  SamplingParams params;
  params.temp = 0.0f;
  params.logit_bias = {{2, 5.0f}};
  EXPECT_EQ(sample_once(params, {3.0f, 2.0f, 1.0f}), 2);
  params.logit_bias = {{0, -kInf}};
  EXPECT_EQ(sample_once(params, {3.0f, 2.0f, 1.0f}), 1);
  params.logit_bias = {{0, -kInf},
                       {0, 7.0f}};  // the end-of-generation bias and the user's on one token: forbidden stays forbidden
  EXPECT_EQ(sample_once(params, {3.0f, 2.0f, 1.0f}), 1);
}

TEST(LogitBias, LeavingNothingIsAnErrorOfTheRequest) {
  SamplingParams params;
  params.logit_bias = {{0, -kInf}, {1, -kInf}, {0, 7.0f}};
  try {
    (void)sample_once(params, {3.0f, 2.0f});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
    EXPECT_NE(std::string(error.what()).find("logit_bias"), std::string::npos);
  }
}

TEST(LogitBias, HugeValuesStayFiniteAndStillDecide) {
  SamplingParams params = open_params();
  params.logit_bias = {{1, 3.4e38f}};
  EXPECT_EQ(drawn(params, {1e38f, 1e38f, 0.0f}), (std::set<TokenId>{1}));
  params.logit_bias = {{1, -3.4e38f}};
  EXPECT_EQ(drawn(params, {1.0f, -3e38f, 1.0f}), (std::set<TokenId>{0, 2}));
}

// Case B37: extreme and degenerate option values.
TEST(B37, TemperatureZeroAndBelowIsArgmaxWithTheLowestIdOnTies) {
  const std::vector<float> logits = {1.0f, 7.0f, 7.0f, 7.0f};
  for (const float temp : {0.0f, -0.0f, -1.0f, -1e30f}) {
    SamplingParams params;
    params.temp = temp;
    EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{1})) << temp;
    EXPECT_TRUE(Sampler(params, 4).is_greedy());
    params.stages = {Stage::kTopK};  // also without a temperature stage
    EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{1})) << temp;
    params.logit_bias = {{0, 1.0f}};  // and on the path that builds candidates
    EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{1})) << temp;
  }
}

TEST(B37, TinyTemperaturesKeepTheBestAndHugeOnesMakeAllEqual) {
  const std::vector<float> logits = {1.0f, 7.0f, 6.99f, -40.0f};
  SamplingParams params = open_params();
  for (const float temp : {1e-30f, 1e-38f, 1e-45f}) {
    params.temp = temp;
    EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{1})) << temp;
  }
  params.temp = 1e30f;
  EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{0, 1, 2, 3}));
}

TEST(B37, TopKZeroAndBelowIsOffAndHugeIsTheVocabulary) {
  const std::vector<float> logits(50, 1.0f);
  SamplingParams params = open_params();
  for (const int32_t k : {0, -1, std::numeric_limits<int32_t>::min(), 1000000000}) {
    params.top_k = k;
    EXPECT_GT(drawn(params, logits).size(), 45u) << k;
  }
  params.top_k = 1;
  EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{0}));
}

TEST(B37, TopPZeroKeepsOneAndOneOrMoreIsOff) {
  const std::vector<float> logits(50, 1.0f);
  SamplingParams params = open_params();
  params.top_p = 0.0f;
  EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{0}));
  for (const float p : {1.0f, 1.5f}) {
    params.top_p = p;
    EXPECT_GT(drawn(params, logits).size(), 45u) << p;
  }
}

TEST(B37, MinPZeroIsOffAndOneKeepsTheBestAndItsEquals) {
  const std::vector<float> logits = {1.0f, 1.5f, 1.5f, 1.49f};
  SamplingParams params = open_params();
  EXPECT_EQ(drawn(params, logits).size(), 4u);
  params.min_p = 1.0f;
  EXPECT_EQ(drawn(params, logits), (std::set<TokenId>{1, 2}));
}

TEST(B37, EqualLogitsAreDrawnInTheOrderOfTheirIds) {
  SamplingParams params = open_params();
  const std::vector<float> logits(4, 2.0f);
  Sampler sampler(params, 4);
  for (uint64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(sampler.sample(logits, step), static_cast<TokenId>(uniform_draw(params.seed, step) * 4));
  }
}

}  // namespace
}  // namespace lockstep::sampling
