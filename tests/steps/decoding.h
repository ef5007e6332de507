// For tests only: the engine that the tests of single steps look at, decoding tokens one by one.
#pragma once

#include <algorithm>
#include <memory>

#include "engine/session.h"

namespace lockstep::steps {

constexpr int kSteps = 60;  // within the first block of the KV cache, the prompt included
constexpr engine::TokenId kPrompt[] = {5, 600, 7, 80, 9};

inline std::unique_ptr<engine::Engine> load_mini_llama(int threads) {
  const auto models = std::filesystem::path(__FILE__).parent_path() / "../data/models";
  engine::EngineOptions options;
  options.threads = threads;
  options.ctx_size = 128;
  options.batch_size = 16;
  return engine::Engine::load(models / "mini-llama.Q4_0.gguf", options);
}

// What is measured: from a chosen id to the logits of the next. The choice is the test's own.
inline void step(engine::Session& session) {
  const auto logits = session.logits();
  const auto best = static_cast<engine::TokenId>(std::ranges::max_element(logits) - logits.begin());
  session.append(best);
}

}  // namespace lockstep::steps
