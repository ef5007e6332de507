// The answers of Gemma 3 270M, token for token as llama.cpp gives them, through the engine as a program uses it.
// LOCKSTEP_MODELS names the folder of the model, LOCKSTEP_GOLDEN that of the answers.
#include <gtest/gtest.h>

#include "engine/generate.h"
#include "golden/golden_files.h"

namespace lockstep {
namespace {

using engine::TokenId;

constexpr int64_t kMostTokens = 32;

TEST(Gemma3, AnswersEveryPromptTokenForToken) {
  const std::filesystem::path models = golden::folder_of("LOCKSTEP_MODELS");
  LOCKSTEP_NEEDS_FOLDER(models, "LOCKSTEP_MODELS");
  const std::filesystem::path folder = golden::folder_of("LOCKSTEP_GOLDEN");
  LOCKSTEP_NEEDS_FOLDER(folder, "LOCKSTEP_GOLDEN");
  engine::EngineOptions options;
  options.threads = 2;
  options.ctx_size = 512;
  options.compute = model::Compute::kExact;
  options.kv_type = kernels::CacheType::kF32;
  const auto engine = engine::Engine::load(models / "gemma-3-270m-q4_k_m.gguf", options);
  engine::Session session(*engine);
  engine::GenerateOptions greedy;
  greedy.sampling.temp = 0.0f;
  greedy.n_predict = kMostTokens;
  const auto prompts = golden::read_json_lines(folder / "gemma3/gemma3-270m.F32.gen.jsonl");
  ASSERT_GE(prompts.size(), 2u);
  for (const nlohmann::json& wanted : prompts) {
    const std::string text = wanted.at("text");
    const auto ids = wanted.at("prompt_ids").get<std::vector<TokenId>>();
    EXPECT_EQ(engine->tokenizer().encode(text, {.add_special = true, .parse_special = true}), ids) << text;
    EXPECT_EQ(generate(session, *engine, ids, greedy).ids, wanted.at("ids").get<std::vector<TokenId>>()) << text;
  }
}

}  // namespace
}  // namespace lockstep
