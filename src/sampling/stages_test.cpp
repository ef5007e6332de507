// Every stage against llama.cpp's own results (samplers/samplers.jsonl of the reference data), and the rules that hold
// beside.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "sampling/dry.h"
#include "sampling/mirostat.h"
#include "sampling/nearest.h"
#include "sampling/penalties.h"
#include "sampling/temperature.h"
#include "sampling/token_weights.h"
#include "sampling/truncate.h"

namespace lockstep::sampling {
namespace {

using nlohmann::json;

constexpr float kMost = std::numeric_limits<float>::max();

Candidates list_of(const std::vector<float>& logits) {
  Candidates list;
  assign_all(list, logits);
  return list;
}

std::map<TokenId, float> by_id(const Candidates& list) {
  std::map<TokenId, float> result;
  for (size_t i = 0; i < list.size(); ++i) result[list.id(i)] = list.logits[i];
  EXPECT_EQ(result.size(), list.size()) << "an id twice";
  return result;
}

std::vector<TokenId> ids_of(const Candidates& list) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < list.size(); ++i) ids.push_back(list.id(i));
  return ids;
}

// The ids in the order in which a draw passes them.
std::vector<TokenId> ranked_ids(Candidates& list) {
  std::vector<TokenId> ids;
  const Weights weights = weigh(list);
  uint64_t sum = 0;
  while (sum < weights.total) {
    const size_t i = nearest_reaching(list, weights, sum + 1, {list.logits.data(), weights.best});
    ids.push_back(list.id(i));
    sum += weights.of[i];
  }
  return ids;
}

void run_stage(const json& line, Candidates& list) {
  const std::string stage = line.at("sampler");
  const json& p = line.at("params");
  if (stage == "top_k")
    top_k(list, p.at("k").get<int64_t>());
  else if (stage == "top_p")
    top_p(list, p.at("p").get<float>(), 1);
  else if (stage == "min_p")
    min_p(list, p.at("p").get<float>(), 1);
  else if (stage == "typical")
    typical(list, p.at("p").get<float>(), 1);
  else if (stage == "top_n_sigma")
    top_n_sigma(list, p.at("n").get<float>());
  else if (stage == "temperature")
    temperature(list, p.at("t").get<float>());
  else if (stage == "dynatemp")
    dynamic_temperature(list, p.at("t").get<float>(), p.at("range").get<float>(), p.at("exponent").get<float>());
  else if (stage == "penalties") {
    const auto history = line.at("history").get<std::vector<TokenId>>();
    penalties(list, last_tokens(history, p.at("last_n").get<int32_t>()),
              {p.at("repeat").get<float>(), p.at("frequency").get<float>(), p.at("presence").get<float>()});
  } else {
    FAIL() << "unknown stage " << stage;
  }
}

std::vector<float> kept_logits(const std::map<TokenId, float>& kept) {
  std::vector<float> logits;
  for (const auto& [id, logit] : kept) logits.push_back(logit);
  std::sort(logits.begin(), logits.end());
  return logits;
}

bool same_ids(const std::map<TokenId, float>& a, const std::map<TokenId, float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

// True when the kept ids are llama.cpp's. Where equal logits stand on both sides of a cut it keeps what its sort left
// in front, lockstep the lowest ids: then the kept logits must still be the same.
bool compare_kept(const json& line, const Candidates& list) {
  const std::map<TokenId, float> ours = by_id(list);
  std::map<TokenId, float> theirs;
  for (const auto& entry : line.at("kept")) theirs[entry.at(0).get<TokenId>()] = entry.at(1).get<float>();
  const std::vector<float> our_logits = kept_logits(ours);
  const std::vector<float> their_logits = kept_logits(theirs);
  EXPECT_EQ(our_logits.size(), their_logits.size()) << line.dump();
  if (our_logits.size() != their_logits.size()) return false;
  for (size_t i = 0; i < our_logits.size(); ++i) EXPECT_NEAR(our_logits[i], their_logits[i], 1e-5) << line.dump();
  if (!same_ids(ours, theirs)) return false;
  for (const auto& [id, logit] : ours) EXPECT_NEAR(logit, theirs[id], 1e-5) << line.dump();
  return true;
}

// The tokens of SmolLM2's vocabulary that contain a newline, ':', '"' or '*', of those that the histories hold.
const DryBreakers kSmolLM2Breakers = {{18}, {42}, {198}, {476}};

void compare_dry(const json& line) {
  const json& p = line.at("params");
  const auto history = line.at("history").get<std::vector<TokenId>>();
  Candidates list = list_of(std::vector<float>(49152, 0.0f));
  dry(list, last_tokens(history, p.at("last_n").get<int32_t>()),
      {p.at("multiplier").get<float>(), p.at("base").get<float>(), p.at("allowed_length").get<int32_t>(),
       kSmolLM2Breakers});
  std::map<TokenId, float> changed = by_id(list);
  std::erase_if(changed, [](const auto& entry) { return entry.second == 0.0f; });
  ASSERT_EQ(changed.size(), line.at("changed").size()) << line.dump();
  for (const auto& entry : line.at("changed")) {
    ASSERT_NEAR(changed[entry.at(0).get<TokenId>()], entry.at(1).get<float>(), 1e-5) << line.dump();
  }
}

TEST(Stages, EqualLlamaCppOnTheReferenceData) {
  const char* golden = std::getenv("LOCKSTEP_GOLDEN");
  if (golden == nullptr) GTEST_SKIP() << "LOCKSTEP_GOLDEN is not set";
  std::ifstream file(std::string(golden) + "/samplers/samplers.jsonl");
  ASSERT_TRUE(file);
  std::map<std::string, int> count;
  int n_ties = 0;
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text);
    const std::string stage = line.at("sampler");
    ++count[stage];
    if (stage == "dry") {
      compare_dry(line);
    } else {
      Candidates list = list_of(line.at("logits").get<std::vector<float>>());
      run_stage(line, list);
      if (!compare_kept(line, list)) ++n_ties;
    }
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
  const std::map<std::string, int> expected = {{"dry", 34},         {"dynatemp", 16},    {"min_p", 32},
                                               {"penalties", 432},  {"temperature", 32}, {"top_k", 40},
                                               {"top_n_sigma", 32}, {"top_p", 48},       {"typical", 24}};
  EXPECT_EQ(count, expected);
  EXPECT_EQ(n_ties, 5);  // top_p four times, typical once
}

TEST(Stages, AlwaysLeaveACandidateAndFiniteLogits) {
  const std::vector<std::vector<float>> lists = {
      {0.0f}, {1.0f, 1.0f, 1.0f}, {kMost, -kMost, 0.0f}, {-80.0f, 3.0f, 2.9f, -1e-40f}};
  for (const auto& logits : lists) {
    for (const float v : {-1.0f, 0.0f, 1e-45f, 1e-9f, 0.3f, 0.5f, 1.0f, 1e38f}) {
      for (int stage = 0; stage < 9; ++stage) {
        Candidates list = list_of(logits);
        const std::vector<TokenId> window = {0, 0, 1, 0, 0};
        switch (stage) {
          case 0:
            top_p(list, v, 0);
            break;
          case 1:
            min_p(list, std::min(v, 1.0f), 0);
            break;
          case 2:
            typical(list, v, 0);
            break;
          case 3:
            top_n_sigma(list, v);
            break;
          case 4:
            temperature(list, v);
            break;
          case 5:
            dynamic_temperature(list, v, 1e38f, 0.5f);
            break;
          case 6:
            penalties(list, window, {std::max(v, 1e-38f), v * 3, -v});
            break;
          case 7:
            dry(list, window, {v, 1e38f, 0, {}});
            break;
          default:
            xtc(list, v, 0);
            break;
        }
        ASSERT_NE(list.size(), 0u) << stage << " " << v;
        for (const float logit : list.logits) ASSERT_TRUE(std::isfinite(logit)) << stage << " " << v;
      }
    }
  }
}

TEST(MinKeep, KeepsThatManyWhereTheStageKeepsFewer) {
  const std::vector<float> logits = {0.0f, 9.0f, 3.0f, 2.0f, 1.0f};
  Candidates list = list_of(logits);
  top_p(list, 0.1f, 3);
  EXPECT_EQ(ids_of(list), (std::vector<TokenId>{1, 2, 3}));
  list = list_of(logits);
  min_p(list, 0.5f, 3);
  EXPECT_EQ(ids_of(list), (std::vector<TokenId>{1, 2, 3}));
  list = list_of(logits);
  typical(list, 0.1f, 3);
  EXPECT_EQ(list.size(), 3u);
  list = list_of({2.0f, 2.0f, 2.0f});
  xtc(list, 0.2f, 2);
  EXPECT_EQ(list.size(), 3u);
}

TEST(Temperature, OrdersByIdWhatItMakesEqual) {
  Candidates list = list_of({1e-38f, 2e-38f, 3e-38f});
  EXPECT_EQ(ranked_ids(list), (std::vector<TokenId>{2, 1, 0}));
  temperature(list, 1e30f);
  EXPECT_EQ(ranked_ids(list), (std::vector<TokenId>{0, 1, 2}));
}

TEST(Temperature, KeepsTheBestWhenAnyQuotientOverflows) {
  Candidates list = list_of({1.0f, 2.0f, -2e38f});
  temperature(list, 0.5f);
  EXPECT_EQ(by_id(list), (std::map<TokenId, float>{{1, 2.0f}}));
  list = list_of({1.0f, 2.0f, -1e38f});
  temperature(list, 0.5f);
  EXPECT_EQ(by_id(list), (std::map<TokenId, float>{{0, 2.0f}, {1, 4.0f}, {2, -2e38f}}));
}

TEST(Penalties, CountEveryOccurrenceInTheWindowAlone) {
  const std::vector<TokenId> history = {1, 1, 1, 2, 0, 2};
  Candidates list = list_of({4.0f, 4.0f, 4.0f, -4.0f});
  penalties(list, last_tokens(history, 3), {2.0f, 0.5f, 0.25f});
  EXPECT_EQ(by_id(list), (std::map<TokenId, float>{{0, 1.25f}, {1, 4.0f}, {2, 0.75f}, {3, -4.0f}}));
}

TEST(Penalties, ChangeTheSameTokensWhenOthersAreGone) {
  const std::vector<TokenId> history = {3, 0, 1, 9};
  Candidates list = list_of({4.0f, -5.0f, 6.0f, 5.0f});
  top_k(list, 3);  // removes token 1
  penalties(list, history, {2.0f, 0.0f, 0.0f});
  EXPECT_EQ(by_id(list), (std::map<TokenId, float>{{0, 2.0f}, {2, 6.0f}, {3, 2.5f}}));
}

TEST(LastTokens, AreTheLastOnesAndNeverMoreThanThereAre) {
  const std::vector<TokenId> history = {1, 2, 3};
  EXPECT_EQ(last_tokens(history, 0).size(), 0u);
  EXPECT_EQ(last_tokens(history, 2).front(), 2);
  EXPECT_EQ(last_tokens(history, -1).size(), 3u);
  EXPECT_EQ(last_tokens(history, 2147483647).size(), 3u);
}

// The lengths by trying every suffix, instead of the Z function.
TEST(Dry, EqualsADirectSearchOnRandomHistories) {
  for (uint64_t round = 0; round < 200; ++round) {
    std::vector<TokenId> window;
    for (uint64_t i = 0; i < 3 + round % 30; ++i) window.push_back(static_cast<TokenId>(uniform_draw(round, i) * 3));
    const size_t n = window.size();
    std::map<TokenId, size_t> longest;
    for (size_t k = 1; k < n; ++k) {
      size_t length = 0;
      while (k + length < n && window[n - 1 - length] == window[n - 1 - k - length]) ++length;
      if (length >= 2) longest[window[n - k]] = std::max(longest[window[n - k]], length);
    }
    Candidates list = list_of({0.0f, 0.0f, 0.0f});
    dry(list, window, {1.0f, 2.0f, 2, {}});
    for (const auto& [id, logit] : by_id(list)) {
      const float expected = longest.contains(id) ? -std::exp2(static_cast<float>(longest[id] - 2)) : 0.0f;
      ASSERT_EQ(logit, expected) << "round " << round << " id " << id;
    }
  }
}

TEST(Dry, BreakersOfSeveralTokensStopARepetition) {
  const std::vector<TokenId> window = {1, 2, 3, 4, 5, 1, 2, 3, 4};
  const auto lowered = [&window](const DryBreakers& breakers) {
    Candidates list = list_of(std::vector<float>(9, 0.0f));
    dry(list, window, {1.0f, 2.0f, 1, breakers});
    return by_id(list)[5];
  };
  EXPECT_EQ(lowered({}), -8.0f);                // 1 2 3 4 repeats: 2^(4 - 1)
  EXPECT_EQ(lowered({{2}}), -2.0f);             // only 3 4 counts
  EXPECT_EQ(lowered({{2, 3}}), -1.0f);          // only 4 counts
  EXPECT_EQ(lowered({{2, 4}}), -8.0f);          // does not occur
  EXPECT_EQ(lowered({{2}, {2, 3}}), -1.0f);     // the longest one at a place counts
  EXPECT_EQ(lowered({{4, 7}}), -8.0f);          // reaches past the end
  EXPECT_EQ(lowered({{5}}), 0.0f);              // a breaker is never lowered
  EXPECT_EQ(lowered({{5, 1, 2, 3, 4}}), 0.0f);  // nothing behind the breaker yet
}

TEST(Xtc, RemovesAllButTheLeastProbableOfTheTop) {
  const std::vector<float> logits = {std::log(0.3f), std::log(0.4f), std::log(0.2f), std::log(0.1f)};
  Candidates list = list_of(logits);
  xtc(list, 0.15f, 0);
  EXPECT_EQ(ids_of(list), (std::vector<TokenId>{2, 3}));
  list = list_of(logits);
  xtc(list, 0.35f, 0);  // one alone is above: nothing to exclude
  EXPECT_EQ(list.size(), 4u);
  xtc(list, 0.6f, 0);
  EXPECT_EQ(list.size(), 4u);
}

TEST(Mirostat, VersionTwoCutsAtItsLargestSurpriseAndLearns) {
  Mirostat state(2, 0.75, 0.5, 4);
  EXPECT_EQ(state.largest_surprise(), 1.5);
  Candidates list = list_of({std::log(0.125f), std::log(0.5f), std::log(0.36f), std::log(0.015f)});
  state.truncate(list);
  EXPECT_EQ(ids_of(list), (std::vector<TokenId>{1, 2}));  // surprises 1 and 1.47; the next is 3
  state.learn(0.25);
  EXPECT_NEAR(state.largest_surprise(), 1.5 - 0.5 * (2 - 0.75), 1e-12);
}

TEST(Mirostat, VersionOneKeepsTheCountOfItsFormula) {
  std::vector<float> logits;
  for (int i = 1; i <= 50; ++i) logits.push_back(-1.5f * std::log(static_cast<float>(i)));  // Zipf with exponent 1.5
  Candidates list = list_of(logits);
  Mirostat(1, 2.0, 0.1, 50).truncate(list);
  const double count = std::pow(0.5 * 16.0 / (1 - std::pow(50.0, -0.5)), 1 / 1.5);
  EXPECT_EQ(list.size(), static_cast<size_t>(count));
  EXPECT_EQ(static_cast<size_t>(count), 4u);
}

TEST(Mirostat, LeavesACandidateForEveryListAndTarget) {
  for (const int32_t version : {1, 2}) {
    for (const double target : {0.0, 1.0, 1e38}) {
      for (const auto& logits :
           std::vector<std::vector<float>>{{0.0f}, {1.0f, 1.0f, 1.0f}, {kMost, -kMost}, {3.0f, 2.0f, 1.0f}}) {
        Candidates list = list_of(logits);
        Mirostat state(version, target, 1e38, logits.size());
        for (int i = 0; i < 5; ++i) {
          state.truncate(list);
          ASSERT_NE(list.size(), 0u);
          state.learn(weigh(list).probability(best_index(list)));
          ASSERT_TRUE(std::isfinite(state.largest_surprise()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::sampling
