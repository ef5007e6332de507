// Answers of a model whose every token is known (B29, B30, B32), streamed and whole.
#include "chat/text_stream.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "engine/generate.h"
#include "forge/load_engine.h"
#include "forge/successor_model.h"

namespace lockstep::chat {
namespace {

using engine::FinishReason;
using Texts = std::vector<std::string>;

struct Answer {
  Texts parts;  // as streamed
  std::string text;
  engine::Generated generated;

  [[nodiscard]] std::string streamed() const {
    std::string all;
    for (const std::string& part : parts) all += part;
    return all;
  }
};

std::unique_ptr<engine::Engine> load(const forge::TinyModel& model) {
  engine::EngineOptions options;
  options.threads = 1;
  options.ctx_size = 64;
  return forge::load_engine(model, "successor.gguf", options);
}

// The answer to <s>, ended by `stops`.
Answer answer_of(engine::Engine& engine, const Texts& stops, int64_t logprobs = -1) {
  engine::GenerateOptions options;
  options.sampling.temp = 0;
  options.logprobs = logprobs;
  TextStream stream(engine.tokenizer(), stops);
  Answer answer;
  const auto show = [&](tokenizer::TokenId id) -> std::optional<FinishReason> {
    if (std::string part = stream.push(id); !part.empty()) answer.parts.push_back(std::move(part));
    return stream.stopped() ? std::optional(FinishReason::kStop) : std::nullopt;
  };
  engine::Session session(engine);
  answer.generated = engine::generate(session, engine, std::vector<tokenizer::TokenId>{1}, options, show);
  answer.parts.push_back(stream.flush());
  answer.text = answer_text(engine.tokenizer(), answer.generated.ids, stops);
  return answer;
}

forge::SuccessorChain chain_of_words(const Texts& words) {
  std::vector<forge::SuccessorToken> tokens;
  for (const std::string& word : words) tokens.push_back({word});
  tokens.push_back({"</s>", 3});
  return forge::chain_of(tokens);
}

forge::TinyModel model_of(const forge::SuccessorChain& chain) {
  forge::TinyModel model = forge::successor_model(chain);
  model.set_key("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(chain.tokens.size() - 1));
  return model;
}

TEST(TextStream, EndsJustBeforeAStopThatSpansTokens) {
  const auto engine = load(model_of(chain_of_words({"alpha", " be", "ta ga", "mma", " de", "lta", " eps", "ilon"})));
  const std::string all = "alpha beta gamma delta epsilon";
  const auto expect = [&](const Texts& stops, const std::string& wanted, size_t n_ids) {
    const Answer answer = answer_of(*engine, stops);
    EXPECT_EQ(answer.streamed(), wanted);
    EXPECT_EQ(answer.text, wanted);
    EXPECT_EQ(answer.generated.finish, FinishReason::kStop);
    EXPECT_EQ(answer.generated.ids.size(), n_ids);
  };
  expect({}, all, 9);
  expect({"gamma delta"}, "alpha beta ", 6);
  expect({"gamma", "gamma delta"}, "alpha beta ", 4);
  expect({"alp"}, "", 1);
  expect({""}, all, 9);
  expect({"epsilon!"}, all, 9);
  Texts many;
  for (int i = 0; i < 1000; ++i) many.push_back("stop " + std::to_string(i));
  expect(many, all, 9);
  many.push_back("eps");
  expect(many, "alpha beta gamma delta ", 7);
}

TEST(TextStream, GivesEveryCharacterWhole) {
  std::vector<forge::SuccessorToken> tokens = {{"x"}};
  append_byte_tokens(tokens, "\xf0\x9f\x98\x80\xc3\xa9\xc3");
  tokens.push_back({"</s>", 3});
  // A byte token is followed by the next of the chain though C3 stands in it twice: the second is another token.
  const auto engine = load(model_of(forge::chain_of(tokens)));
  for (const int64_t logprobs : {int64_t{-1}, int64_t{3}}) {
    const Answer answer = answer_of(*engine, {}, logprobs);
    EXPECT_EQ(answer.parts, (Texts{"x", "\xf0\x9f\x98\x80", "\xc3\xa9", "\xc3"}));
    EXPECT_EQ(answer.text, answer.streamed());
    EXPECT_EQ(answer.generated.steps.size(), logprobs < 0 ? 0u : 9u);
  }
  EXPECT_EQ(answer_of(*engine, {"\xc3\xa9"}).text, "x\xf0\x9f\x98\x80");
}

TEST(TextStream, EndsAtAKnownEndOfTurnThatTheFileDoesNotName) {
  for (const bool has_eot_key : {false, true}) {
    const std::vector<forge::SuccessorToken> tokens = {
        {"hello"}, {has_eot_key ? "<turn_over>" : "<|im_end|>", 3}, {"more"}, {"</s>", 3}};
    forge::TinyModel model = model_of(forge::chain_of(tokens));
    if (has_eot_key) model.set_key("tokenizer.ggml.eot_token_id", uint32_t{3});
    const auto engine = load(model);
    const Answer answer = answer_of(*engine, {});
    EXPECT_EQ(answer.streamed(), "hello");
    EXPECT_EQ(answer.text, "hello");
    EXPECT_EQ(answer.generated.ids, (std::vector<tokenizer::TokenId>{2, 3}));
    EXPECT_EQ(answer.generated.finish, FinishReason::kStop);
  }
}

// 10,000 random answers of random tokens with random stops: what is streamed is what the whole text is.
TEST(TextStream, StreamsExactlyTheTextOfTheAnswer) {
  std::vector<forge::SuccessorToken> tokens = {{"a"}, {"b"}, {"ab"}, {"ba a"}, {"\xe2\x82\xac"}, {"b\xc3\xa9"}};
  append_byte_tokens(tokens,
                     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
                     "a");
  tokens.push_back({"</s>", 3});
  const auto engine = load(model_of(forge::chain_of(tokens)));
  const auto& tokenizer = engine->tokenizer();
  const Texts candidates = {"ab",
                            "aba",
                            "\xc3\xa9",
                            "b\xc3\xa9"
                            "a",
                            "\xe2\x82\xac",
                            "aa b",
                            "\xf0\x9f\x98\x80",
                            "bbb"};
  forge::RandomData random(11);
  int n_stopped = 0;
  for (int round = 0; round < 10000; ++round) {
    Texts stops;
    for (const std::string& stop : candidates) {
      if (random.below(4) == 0) stops.push_back(stop);
    }
    std::vector<tokenizer::TokenId> ids(static_cast<size_t>(random.below(20)));
    for (auto& id : ids) id = static_cast<tokenizer::TokenId>(2 + random.below(16));
    std::string whole = tokenizer.decode(ids, {.continues = true});
    size_t first_end = whole.size() + 1;
    size_t length = 0;
    for (const std::string& stop : stops) {
      const size_t at = whole.find(stop);
      if (at == whole.npos || at + stop.size() > first_end) continue;
      length = at + stop.size() == first_end ? std::max(length, stop.size()) : stop.size();
      first_end = at + stop.size();
    }
    if (length > 0) whole.resize(first_end - length);
    TextStream stream(tokenizer, stops);
    std::string streamed;
    for (const auto id : ids) {
      streamed += stream.push(id);
      ASSERT_TRUE(whole.starts_with(streamed)) << round;
      if (stream.stopped()) break;
    }
    ASSERT_EQ(streamed + stream.flush(), whole) << round;
    ASSERT_EQ(answer_text(tokenizer, ids, stops), whole) << round;
    n_stopped += stream.stopped() ? 1 : 0;
  }
  EXPECT_GT(n_stopped, 2000);
}

}  // namespace
}  // namespace lockstep::chat
