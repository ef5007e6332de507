// The answers of SmolLM2-135M-Instruct, token for token as llama.cpp gives them (tests/data/smollm2), through the
// engine as a program uses it. LOCKSTEP_MODELS names the folder of the model; LOCKSTEP_GOLDEN also has the eight best
// logits of every step. LOCKSTEP_SHORT=1: two prompts only.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/generate.h"
#include "golden/golden_files.h"

namespace lockstep {
namespace {

using engine::TokenId;
using nlohmann::json;

constexpr int64_t kMostTokens = 64;
constexpr const char* kModelFile = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::vector<TokenId> ids_of(const json& list) {
  return list.get<std::vector<TokenId>>();
}

class SmolLm2 : public testing::Test {
 protected:
  static std::unique_ptr<engine::Engine> load(int threads, model::Compute compute = model::Compute::kExact) {
    engine::EngineOptions options;
    options.threads = threads;
    options.ctx_size = 512;
    options.compute = compute;
    options.kv_type = kernels::CacheType::kF32;
    return engine::Engine::load(golden::folder_of("LOCKSTEP_MODELS") / kModelFile, options);
  }

  void SetUp() override {
    const std::filesystem::path models = golden::folder_of("LOCKSTEP_MODELS");
    LOCKSTEP_NEEDS_FOLDER(models, "LOCKSTEP_MODELS");
  }
};

engine::GenerateOptions greedy(int64_t n_predict = kMostTokens) {
  engine::GenerateOptions options;
  options.sampling.temp = 0.0f;
  options.n_predict = n_predict;
  return options;
}

TEST_F(SmolLm2, AnswersEveryPromptTokenForToken) {
  const auto engine = load(2);
  engine::Session session(*engine);
  const std::vector<json> prompts = golden::read_json_lines(golden::project_data() / "smollm2/greedy.jsonl");
  ASSERT_GE(prompts.size(), 2u);
  for (const json& wanted : prompts) {
    const std::string text = wanted.at("text");
    const std::vector<TokenId> prompt = engine->tokenizer().encode(text, {.add_special = true, .parse_special = true});
    EXPECT_EQ(prompt, ids_of(wanted.at("prompt_ids"))) << text;
    const engine::Generated got = generate(session, *engine, ids_of(wanted.at("prompt_ids")), greedy());
    EXPECT_EQ(got.ids, ids_of(wanted.at("ids"))) << text;
    const bool stopped = engine->tokenizer().is_end_of_generation(got.ids.back());
    EXPECT_EQ(got.finish, stopped ? engine::FinishReason::kStop : engine::FinishReason::kLength) << text;
  }
}

// Largest difference between the reference's eight best logits and ours.
double worst_difference(const json& best, std::span<const float> logits) {
  double worst = 0;
  for (const json& pair : best)
    worst = std::max(worst, std::fabs(pair[1].get<double>() - static_cast<double>(logits[pair[0].get<size_t>()])));
  return worst;
}

TEST_F(SmolLm2, HasTheEightBestLogitsOfEveryStepWithinTwoThousandths) {
  const std::filesystem::path folder = golden::folder_of("LOCKSTEP_GOLDEN");
  LOCKSTEP_NEEDS_FOLDER(folder, "LOCKSTEP_GOLDEN");
  const auto engine = load(2);
  engine::Session session(*engine);
  double worst = 0;
  for (const json& wanted : golden::read_json_lines(folder / "smollm2/SmolLM2-135M-Instruct.F32.gen.jsonl")) {
    std::vector<TokenId> tokens = ids_of(wanted.at("prompt_ids"));
    const auto n_prompt = static_cast<int64_t>(tokens.size());
    const std::vector<TokenId> generated = ids_of(wanted.at("ids"));
    tokens.insert(tokens.end(), generated.begin(), generated.end() - 1);
    ASSERT_EQ(wanted.at("top8").size(), generated.size());
    size_t n_compared = 0;
    session.sync_all(tokens, [&](int64_t position, std::span<const float> logits) {
      if (position < n_prompt - 1) return;
      worst =
          std::max(worst, worst_difference(wanted.at("top8")[static_cast<size_t>(position - n_prompt + 1)], logits));
      ++n_compared;
    });
    EXPECT_EQ(n_compared, generated.size());
  }
  EXPECT_LE(worst, 2e-3);
  RecordProperty("worst_difference", fmt::format("{:.2e}", worst));
}

// One answer with the cache, and one that computes everything anew for every token.
TEST_F(SmolLm2, GeneratesTheSameBitsWithAndWithoutTheCacheInCountedPasses) {
  constexpr int64_t kTokens = 10;
  const auto engine = load(2);
  const std::vector<TokenId> prompt = {504, 3575, 282};
  engine::Session cached(*engine);
  std::vector<std::vector<float>> cached_logits;
  const uint64_t before = engine->n_forward();
  const engine::Generated got = generate(cached, *engine, prompt, greedy(kTokens), [&](TokenId) {
    cached_logits.emplace_back(cached.logits().begin(), cached.logits().end());
    return std::nullopt;
  });
  ASSERT_EQ(got.ids.size(), static_cast<size_t>(kTokens));
  // The prompt in one pass; then one for every token but the last, whose own logits nobody asks for.
  EXPECT_EQ(engine->n_forward() - before, static_cast<uint64_t>(kTokens));
  EXPECT_EQ(cached.tokens().size(), prompt.size() + kTokens - 1);

  std::vector<TokenId> tokens = prompt;
  int64_t n_computed = 0;
  for (size_t step = 0; step < got.ids.size(); ++step) {
    engine::Session fresh(*engine);
    n_computed += fresh.sync(tokens).computed;
    ASSERT_EQ(std::memcmp(fresh.logits().data(), cached_logits[step].data(), fresh.logits().size_bytes()), 0)
        << "step " << step;
    tokens.push_back(got.ids[step]);
  }
  EXPECT_EQ(n_computed, 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12);
}

TEST_F(SmolLm2, ReusesACommonPrefixAndComputesOnlyTheRest) {
  const auto engine = load(2);
  engine::Session session(*engine);
  const std::vector<TokenId> first = {504, 3575, 282, 4649, 314};
  const std::vector<TokenId> second = {504, 3575, 282, 7042};
  EXPECT_EQ(session.sync(first).computed, 5);
  const engine::Session::Synced again = session.sync(first);
  EXPECT_EQ(again.reused, 4);
  EXPECT_EQ(again.computed, 1);
  const engine::Session::Synced turn = session.sync(second);
  EXPECT_EQ(turn.reused, 3);
  EXPECT_EQ(turn.computed, 1);
  const std::vector<float> reused(session.logits().begin(), session.logits().end());
  engine::Session fresh(*engine);
  EXPECT_EQ(fresh.sync(second).reused, 0);
  EXPECT_EQ(std::memcmp(fresh.logits().data(), reused.data(), fresh.logits().size_bytes()), 0);
}

TEST_F(SmolLm2, AnswersAlikeWithOneTwoAndThreeThreadsInBothModes) {
  const std::vector<TokenId> prompt = {504, 3575, 282, 4649, 314};
  for (const auto compute : {model::Compute::kExact, model::Compute::kFast}) {
    std::vector<TokenId> ids;
    std::vector<float> logits;
    for (const int threads : {1, 2, 3}) {
      const auto engine = load(threads, compute);
      engine::Session session(*engine);
      const engine::Generated got = generate(session, *engine, prompt, greedy(6));
      if (threads == 1) {
        ids = got.ids;
        logits.assign(session.logits().begin(), session.logits().end());
        EXPECT_EQ(ids.front(), 7042) << "Paris";
      }
      EXPECT_EQ(got.ids, ids) << threads;
      EXPECT_EQ(std::memcmp(session.logits().data(), logits.data(), session.logits().size_bytes()), 0) << threads;
    }
  }
}

}  // namespace
}  // namespace lockstep
