// XTC, Mirostat and logit bias against llama.cpp's own results: tests/data/sampling/llama_cpp.jsonl, made by
// tools/make_llama_cpp_samples.py (`make sampling-data`).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "sampling/logit_bias.h"
#include "sampling/mirostat.h"
#include "sampling/temperature.h"
#include "sampling/token_weights.h"
#include "sampling/truncate.h"

namespace lockstep::sampling {
namespace {

using nlohmann::json;

Candidates list_of(const json& logits) {
  Candidates list;
  assign_all(list, logits.get<std::vector<float>>());
  return list;
}

std::vector<TokenId> ids_of(const Candidates& list) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < list.size(); ++i) ids.push_back(list.id(i));
  return ids;
}

void expect_kept(const json& line, Candidates list) {
  const json& kept = line.at("kept");
  ASSERT_EQ(list.size(), kept.size()) << line.dump();
  for (size_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(list.id(i), kept[i].at(0).get<TokenId>()) << line.dump();
    ASSERT_NEAR(list.logits[i], kept[i].at(1).get<float>(), 1e-5) << line.dump();
  }
}

void compare_xtc(const json& line) {
  const json& params = line.at("params");
  Candidates list = list_of(line.at("logits"));
  xtc(list, params.at("threshold").get<float>(), params.at("min_keep").get<size_t>());
  expect_kept(line, list);
}

void compare_logit_bias(const json& line) {
  std::vector<LogitBias> biases;
  for (const json& entry : line.at("params").at("biases")) {
    const bool forbids = entry.at(1) == "-inf";
    biases.push_back(
        {entry.at(0).get<TokenId>(), forbids ? -std::numeric_limits<float>::infinity() : entry.at(1).get<float>()});
  }
  Candidates list = list_of(line.at("logits"));
  logit_bias(list, biases);
  expect_kept(line, list);
}

// Each step cuts by what the tokens that llama.cpp drew have taught.
void compare_mirostat(const json& line) {
  const json& params = line.at("params");
  const json& steps = line.at("steps");
  Mirostat state(params.at("version").get<int32_t>(), params.at("tau").get<double>(), params.at("eta").get<double>(),
                 steps.at(0).at("logits").size());
  for (const json& step : steps) {
    Candidates list = list_of(step.at("logits"));
    temperature(list, params.at("temp").get<float>());
    state.truncate(list);
    ASSERT_EQ(ids_of(list), step.at("kept").get<std::vector<TokenId>>()) << params.dump();
    const std::vector<TokenId> ids = ids_of(list);
    const auto drawn = std::ranges::find(ids, step.at("drawn").get<TokenId>());
    ASSERT_NE(drawn, ids.end()) << params.dump();
    state.learn(weigh(list).probability(static_cast<size_t>(drawn - ids.begin())));
  }
}

TEST(StagesOfLlamaCpp, XtcMirostatAndLogitBiasGiveItsResults) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "../../tests/data/sampling/llama_cpp.jsonl";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const std::map<std::string, void (*)(const json&)> compare = {
      {"xtc", compare_xtc}, {"logit_bias", compare_logit_bias}, {"mirostat", compare_mirostat}};
  std::map<std::string, int> count;
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text);
    const std::string stage = line.at("sampler");
    ++count[stage];
    compare.at(stage)(line);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(count, (std::map<std::string, int>{{"xtc", 36}, {"logit_bias", 6}, {"mirostat", 8}}));
}

}  // namespace
}  // namespace lockstep::sampling
