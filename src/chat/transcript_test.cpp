// A conversation of several turns: with the cache kept, without, and after it was saved and loaded before every turn.
// All must have the same ids. With SmolLM2 where LOCKSTEP_MODELS names the folder of it, and with a small random model.
#include <gtest/gtest.h>

#include "chat/conversation.h"
#include "chat/text_stream.h"
#include "engine/generate.h"
#include "engine/session_file.h"
#include "forge/tiny_model.h"
#include "golden/golden_files.h"

namespace lockstep::chat {
namespace {

using tokenizer::TokenId;

constexpr std::string_view kNow = "2026-01-02T03:04:05";
constexpr const char* kQuestions[] = {
    "What is the capital of France?",  "And of Italy?",     "Which of them is larger?",
    "Tell me one thing to see there.", "Why is it famous?", "Thank you!"};

enum class Cache { kKept, kNone, kSaved };

struct Turn {
  std::vector<TokenId> prompt, ids;
  int64_t reused;
};

std::unique_ptr<engine::Engine> load(const std::filesystem::path& path) {
  engine::EngineOptions options;
  options.threads = 2;
  options.ctx_size = 1024;
  return engine::Engine::load(path, options);
}

engine::GenerateOptions options_of_turn(size_t turn, int64_t n_predict) {
  engine::GenerateOptions options;
  options.n_predict = n_predict;
  options.sampling.seed = turn;
  options.sampling.temp = turn % 2 == 0 ? 0.0f : 0.8f;
  return options;
}

std::vector<Turn> transcript(engine::Engine& engine, const PromptBuilder& builder, Cache cache, int64_t n_predict) {
  const std::filesystem::path file = forge::test_file("session");
  auto session = std::make_unique<engine::Session>(engine);
  Conversation conversation;
  tokenizer::FragmentMemory memory;
  std::vector<Turn> turns;
  for (const char* question : kQuestions) {
    if (cache != Cache::kKept) {
      session = std::make_unique<engine::Session>(engine);
      memory = {};
    }
    if (cache == Cache::kSaved && !turns.empty())
      conversation = Conversation::restored(Json::parse(engine::load_session(file, *session)));
    conversation.ask(question);
    const NextPrompt next = next_prompt(conversation, builder, kNow, {engine.ctx_size(), 0}, memory);
    const engine::Generated generated =
        engine::generate(*session, engine, next.prompt.ids, options_of_turn(turns.size(), n_predict));
    conversation.answer(answer_text(engine.tokenizer(), generated.ids, {}));
    turns.push_back({next.prompt.ids, generated.ids, generated.prompt.reused});
    if (cache == Cache::kSaved) engine::save_session(file, *session, json_line(conversation.saved()));
  }
  return turns;
}

void expect_same_ids(engine::Engine& engine, const PromptBuilder& builder, int64_t n_predict) {
  const std::vector<Turn> kept = transcript(engine, builder, Cache::kKept, n_predict);
  const std::vector<Turn> cold = transcript(engine, builder, Cache::kNone, n_predict);
  const std::vector<Turn> saved = transcript(engine, builder, Cache::kSaved, n_predict);
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].prompt, cold[i].prompt) << i;
    EXPECT_EQ(kept[i].ids, cold[i].ids) << i;
    EXPECT_EQ(saved[i].ids, cold[i].ids) << i;
    EXPECT_EQ(saved[i].reused, kept[i].reused) << i;
    EXPECT_EQ(cold[i].reused, 0) << i;
    // All that the last prompt had is there; what is computed does not grow with the conversation.
    const size_t last_prompt = i == 0 ? 0 : kept[i - 1].prompt.size();
    EXPECT_GE(kept[i].reused, static_cast<int64_t>(last_prompt)) << i;
  }
}

TEST(Transcript, OfASmallModelIsTheSameWithAndWithoutItsCache) {
  const std::filesystem::path path = forge::test_file("tiny.gguf");
  forge::TinyModel(forge::tiny_llama()).write(path);
  const auto engine = load(path);
  const PromptBuilder builder(
      engine->tokenizer(),
      ChatTemplate("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "));
  expect_same_ids(*engine, builder, 12);
}

TEST(Transcript, OfSmolLm2IsTheSameWithAndWithoutItsCache) {
  const std::filesystem::path models = golden::folder_of("LOCKSTEP_MODELS");
  LOCKSTEP_NEEDS_FOLDER(models, "LOCKSTEP_MODELS");
  const auto engine = load(models / "SmolLM2-135M-Instruct.Q4_1.gguf");
  const PromptBuilder builder(engine->tokenizer(), template_of_file(engine->tokenizer(), "", false));
  expect_same_ids(*engine, builder, 24);
}

}  // namespace
}  // namespace lockstep::chat
