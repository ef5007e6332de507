// The shortlists that members of the team make of their share of the logits, on a vocabulary large enough to have them
// (SmolLM2's 49,152).
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/session.h"
#include "golden/golden_files.h"
#include "sampling/logits.h"
#include "sampling/sampler.h"

namespace lockstep {
namespace {

TEST(Shortlist, HoldsTheBestTokensWhateverTheNumberOfThreads) {
  const char* models = std::getenv("LOCKSTEP_MODELS");
  if (models == nullptr) GTEST_SKIP() << "needs LOCKSTEP_MODELS";
  for (const int threads : {1, 2, 3}) {
    engine::EngineOptions options;
    options.threads = threads;
    options.ctx_size = 64;
    const auto engine =
        engine::Engine::load(std::filesystem::path(models) / "SmolLM2-135M-Instruct.Q4_1.gguf", options);
    engine::Session session(*engine);
    session.sync(engine->tokenizer().encode("The capital of France is", {}));
    const auto best = sampling::top_k_of(session.logits(), sampling::Sampler::kShortlist);
    const auto shortlist = session.shortlist();
    ASSERT_GE(shortlist.size(), best.size());
    ASSERT_LT(shortlist.size(), 2000u) << "short";
    for (const sampling::Candidate& candidate : best) {
      EXPECT_TRUE(std::ranges::any_of(shortlist, [&](const auto& c) {
        return c.id == candidate.id && c.logit == candidate.logit;
      })) << candidate.id;
    }
  }
}

}  // namespace
}  // namespace lockstep
