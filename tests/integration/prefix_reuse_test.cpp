// What a timeline has in common with the next prompt is not computed again, and changes no answer (B36).
#include <gtest/gtest.h>

#include "engine/scheduler.h"
#include "forge/load_engine.h"
#include "forge/tiny_model.h"

namespace lockstep::engine {
namespace {

using Prompt = std::vector<TokenId>;

std::unique_ptr<Engine> load_tiny() {
  forge::TinyShape shape = forge::tiny_qwen2();
  shape.n_layers = 2;
  shape.types = {quant::TensorType::kQ4_0, quant::TensorType::kQ8_0};
  EngineOptions options;
  options.threads = 2;
  options.ctx_size = 300;
  options.batch_size = 32;
  return forge::load_engine(forge::TinyModel(shape), "tiny.gguf", options);
}

GenerateOptions greedy(int64_t n_predict) {
  GenerateOptions options;
  options.sampling.temp = 0;
  options.n_predict = n_predict;
  options.ignore_eos = true;
  return options;
}

Generated cold(Engine& engine, const Prompt& prompt, const GenerateOptions& options) {
  Session session(engine);
  return generate(session, engine, prompt, options);
}

Prompt joined(const Prompt& first, const Prompt& second) {
  Prompt all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

int64_t common_beginning(std::span<const TokenId> prompt, std::span<const TokenId> timeline) {
  const auto common = std::ranges::mismatch(prompt, timeline).in1 - prompt.begin();
  return std::min<int64_t>(common, static_cast<int64_t>(prompt.size()) - 1);
}

std::vector<float> bits_of(std::span<const float> logits) {
  return {logits.begin(), logits.end()};
}

TEST(PrefixReuse, TheSamePromptTwiceComputesOnlyItsLastToken) {
  const auto engine = load_tiny();
  Session session(*engine);
  const Prompt prompt = forge::random_tokens(140, 300, 1);
  (void)session.sync(prompt);
  const std::vector<float> first = bits_of(session.logits());
  const uint64_t before = engine->n_forward();
  const Session::Synced again = session.sync(prompt);
  EXPECT_EQ(again.reused, 139);
  EXPECT_EQ(again.computed, 1);
  EXPECT_EQ(engine->n_forward() - before, 1u);
  EXPECT_EQ(bits_of(session.logits()), first);
  const GenerateOptions options = greedy(10);
  const Prompt wanted = cold(*engine, prompt, options).ids;
  for (int run = 0; run < 3; ++run) EXPECT_EQ(generate(session, *engine, prompt, options).ids, wanted) << run;
}

TEST(PrefixReuse, EveryPromptAfterEveryOtherHasTheLogitsOfAColdStart) {
  const auto engine = load_tiny();
  const Prompt base = forge::random_tokens(260, 300, 1);
  std::vector<Prompt> prompts;
  for (const int64_t kept : {1, 3, 31, 32, 127, 128, 129, 200, 260}) {
    const Prompt beginning(base.begin(), base.begin() + kept);
    prompts.push_back(beginning);
    if (kept < 250) prompts.push_back(joined(beginning, forge::random_tokens(9, 300, static_cast<uint64_t>(kept))));
  }
  std::vector<std::vector<float>> wanted;
  for (const Prompt& prompt : prompts) {
    Session session(*engine);
    (void)session.sync(prompt);
    wanted.push_back(bits_of(session.logits()));
  }
  Session session(*engine);
  Prompt timeline;
  forge::RandomData random(3);
  for (int round = 0; round < 60; ++round) {
    const auto i = static_cast<size_t>(random.below(static_cast<int64_t>(prompts.size())));
    const Session::Synced synced = session.sync(prompts[i]);
    EXPECT_EQ(synced.reused, common_beginning(prompts[i], timeline));
    EXPECT_EQ(synced.reused + synced.computed, static_cast<int64_t>(prompts[i].size()));
    ASSERT_EQ(bits_of(session.logits()), wanted[i]) << "round " << round << ", prompt " << i;
    timeline = prompts[i];
  }
}

TEST(PrefixReuse, ARefusedPromptLeavesTheTimelineAsItWas) {
  const auto engine = load_tiny();
  Session session(*engine);
  const Prompt prompt = forge::random_tokens(50, 300, 1);
  (void)session.sync(prompt);
  EXPECT_THROW((void)session.sync(forge::random_tokens(301, 300, 2)), Error);
  EXPECT_THROW((void)session.sync(Prompt{5, 300}), Error);
  EXPECT_THROW((void)session.sync(Prompt{}), Error);
  EXPECT_EQ(Prompt(session.tokens().begin(), session.tokens().end()), prompt);
  EXPECT_EQ(session.sync(prompt).reused, 49);
}

struct Served {
  std::vector<Generated> answers;
  int64_t reused = 0;
};

Served serve(Engine& engine, int64_t n_slots, const std::vector<Prompt>& prompts, const GenerateOptions& options) {
  Served served;
  served.answers.resize(prompts.size());
  Scheduler scheduler(engine, n_slots);
  for (size_t i = 0; i < prompts.size(); ++i) {
    scheduler.submit({prompts[i], options, {}, [&served, i](std::variant<Generated, Error> answer) {
                        served.answers[i] = std::get<Generated>(std::move(answer));
                        served.reused += served.answers[i].prompt.reused;
                      }});
  }
  scheduler.run();
  return served;
}

// A conversation that repeats a word, then unlike short prompts, of which some begin as it does, then the same twice.
TEST(PrefixReuse, ALongConversationLeavesNoTraceInShortOnes) {
  const auto engine = load_tiny();
  const GenerateOptions options = greedy(12);
  Prompt conversation;
  const Prompt marker = {271, 272, 273};
  for (uint64_t turn = 0; turn < 20; ++turn) {
    conversation = joined(conversation, joined(forge::random_tokens(9, 260, turn), marker));
  }
  std::vector<Prompt> prompts = {conversation};
  for (uint64_t i = 0; i < 12; ++i) {
    const Prompt tail = forge::random_tokens(static_cast<int64_t>(2 + i), 260, 50 + i);
    const Prompt beginning = i % 3 == 0 ? Prompt(conversation.begin(), conversation.begin() + 3) : Prompt{};
    prompts.push_back(joined(beginning, tail));
  }
  prompts.push_back(prompts.back());
  prompts.push_back(conversation);
  for (const int64_t n_slots : {1, 2, 4}) {
    const Served served = serve(*engine, n_slots, prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(served.answers[i].ids, cold(*engine, prompts[i], options).ids) << i << ", " << n_slots << " slots";
    }
    // With more slots it depends on which are free.
    EXPECT_TRUE(served.reused > 0 || n_slots > 1);
  }
}

TEST(PrefixReuse, WhatASchedulerReportsAsReusedIsWhatItsSlotHad) {
  const auto engine = load_tiny();
  const GenerateOptions options = greedy(6);
  const Prompt base = forge::random_tokens(100, 300, 1);
  std::vector<Prompt> prompts;
  for (const int64_t kept : {100, 40, 100, 1, 99}) {
    prompts.push_back(joined(Prompt(base.begin(), base.begin() + kept), forge::random_tokens(5, 300, 9)));
  }
  const Served served = serve(*engine, 1, prompts, options);
  Prompt timeline;
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(served.answers[i].prompt.reused, common_beginning(prompts[i], timeline)) << i;
    // The last token that was chosen never went through the model.
    timeline = joined(prompts[i], {served.answers[i].ids.begin(), served.answers[i].ids.end() - 1});
  }
}

// The conversation's next turn finds the slot that has it, though another is free.
TEST(PrefixReuse, ARequestGoesToTheSlotThatHasMostOfIt) {
  const auto engine = load_tiny();
  const Prompt first = forge::random_tokens(60, 300, 1);
  const Prompt second = forge::random_tokens(70, 300, 2);
  Scheduler scheduler(*engine, 2);
  std::vector<int64_t> reused;
  const auto submit = [&](const Prompt& prompt) {
    scheduler.submit({prompt, greedy(1), {}, [&](const std::variant<Generated, Error>& answer) {
                        reused.push_back(std::get<Generated>(answer).prompt.reused);
                      }});
  };
  submit(first);
  submit(second);
  scheduler.run();
  submit(joined(second, {5, 6}));
  scheduler.run();
  submit(joined(first, {7, 8}));
  scheduler.run();
  EXPECT_EQ(reused, (std::vector<int64_t>{0, 0, 70, 60}));
}

}  // namespace
}  // namespace lockstep::engine
