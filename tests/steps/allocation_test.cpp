// From a chosen id to the next logits nothing is allocated. This program counts: its operators new and delete are its
// own.
#include <gtest/gtest.h>

#include "engine/generate.h"
#include "engine/scheduler.h"
#include "forge/counting_allocator.h"
#include "forge/load_engine.h"
#include "steps/decoding.h"

namespace lockstep::steps {
namespace {

template <typename Action>
int64_t allocations_of(Action&& action) {
  const int64_t before = forge::allocation_counts.made.load();
  action();
  return forge::allocation_counts.made.load() - before;
}

TEST(Allocations, AreCounted) {
  EXPECT_EQ(allocations_of([] { const std::vector<int> memory(100); }), 1);
}

TEST(Allocations, OneTokenMakesNone) {
  for (const int threads : {1, 2, 3}) {
    const auto engine = load_mini_llama(threads);
    engine::Session session(*engine);
    session.sync(kPrompt);
    for (int i = 0; i < kSteps; ++i) {
      ASSERT_EQ(allocations_of([&] { step(session); }), 0) << "step " << i << ", " << threads << " threads";
    }
  }
}

TEST(Allocations, OneTokenWithExpertsMakesNone) {
  engine::EngineOptions options;
  options.threads = 2;
  options.ctx_size = 128;
  const auto engine = forge::load_engine(forge::TinyModel(forge::tiny_family("mixtral")), "tiny.gguf", options);
  engine::Session session(*engine);
  session.sync(std::vector<engine::TokenId>{5, 6, 7});
  for (int i = 0; i < 20; ++i) ASSERT_EQ(allocations_of([&] { step(session); }), 0) << "step " << i;
}

// The whole loop with the choice of a token.
TEST(Allocations, GreedyGenerationMakesNoneAfterItsFirstToken) {
  const auto engine = load_mini_llama(2);
  engine::Session session(*engine);
  engine::GenerateOptions options;
  options.sampling.temp = 0;
  options.n_predict = kSteps;
  engine::Generation generation(session, *engine, kPrompt, options, {});
  session.compute_pending();
  generation.advance();
  int64_t n_steps = 0;
  const int64_t n = allocations_of([&] {
    for (; !generation.done(); ++n_steps) {
      session.compute_pending();
      generation.advance();
    }
  });
  EXPECT_EQ(n, 0);
  EXPECT_GE(n_steps, kSteps / 2);
}

// The memory of the stages is there after a few tokens, however they choose.
TEST(Allocations, SampledGenerationMakesNoneAfterAFewTokens) {
  std::vector<sampling::SamplingParams> chains(5);
  chains[1].top_k = 0;
  chains[2].mirostat = 1;
  chains[3].mirostat = 2;
  sampling::SamplingParams& everything = chains[4];
  everything.repeat_penalty = 1.1f;
  everything.repeat_last_n = 4;  // full from the prompt on
  everything.dry_multiplier = 0.8f;
  everything.dry_penalty_last_n = 4;
  everything.dry_allowed_length = 0;
  everything.top_n_sigma = 3;
  everything.typical = 0.9f;
  everything.xtc_probability = 0.5f;
  everything.dynatemp_range = 0.5f;
  const auto engine = load_mini_llama(2);
  for (const sampling::SamplingParams& chain : chains) {
    engine::GenerateOptions options;
    options.sampling = chain;
    options.sampling.seed = 3;  // no early end
    options.n_predict = kSteps;
    options.ignore_eos = &chain == &everything;  // a logit bias
    engine::Session session(*engine);
    engine::Generation generation(session, *engine, kPrompt, options, {});
    const auto one = [&] {
      session.compute_pending();
      generation.advance();
    };
    for (int i = 0; i < 5 && !generation.done(); ++i) one();
    int64_t n_steps = 0;
    for (; !generation.done(); ++n_steps) {
      ASSERT_EQ(allocations_of(one), 0) << "chain " << &chain - chains.data() << ", step " << n_steps;
    }
    EXPECT_GE(n_steps, 10) << "chain " << &chain - chains.data() << " ended early";
  }
}

TEST(Allocations, SharedStepsOfASchedulerMakeNone) {
  const auto engine = load_mini_llama(2);
  engine::Scheduler scheduler(*engine, 3);
  engine::GenerateOptions options;
  options.sampling.temp = 0;
  options.n_predict = kSteps;
  options.ignore_eos = false;
  int n_done = 0;
  for (const engine::TokenId first : {5, 6, 7}) {
    scheduler.submit({{first, 600, 7}, options, {}, [&n_done](const auto&) { ++n_done; }});
  }
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(scheduler.step());
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < kSteps / 2; ++i) (void)scheduler.step();
            }),
            0);
  ASSERT_EQ(n_done, 0) << "measured less than meant";
}

}  // namespace
}  // namespace lockstep::steps
