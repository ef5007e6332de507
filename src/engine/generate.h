// From a prompt to an answer: the loop of forward pass, sampling and stopping.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "sampling/logits.h"
#include "sampling/sampler.h"
#include "sampling/sampling_params.h"

namespace lockstep::engine {

struct GenerateOptions {
  sampling::SamplingParams sampling;
  int64_t n_predict = -1;   // most tokens to generate; -1: until the model stops or the context is full
  bool ignore_eos = false;  // end-of-generation tokens are never chosen
  int64_t logprobs = -1;    // with every step the log-probability of its token and of the K best; -1: none
  // Texts that end the answer. The engine knows no text: whoever shows the answer holds it against them
  // (chat/text_stream.h) and ends it through OnToken.
  std::vector<std::string> stop;
};

enum class FinishReason { kStop, kLength, kCancelled };
[[nodiscard]] std::string_view to_string(FinishReason reason);

struct Generated {
  std::vector<TokenId> ids;                   // the end-of-generation token included, where one ended it
  std::vector<sampling::StepLogprobs> steps;  // one per id when asked for
  FinishReason finish = FinishReason::kLength;
  Session::Synced prompt = {};
  double prompt_ms = 0;
  double decode_ms = 0;
};

// Called with each id as soon as it is chosen; a reason ends the generation, unless the id itself ends it.
using OnToken = std::function<std::optional<FinishReason>(TokenId)>;

// One answer in the making: what to compute next is planned in its session, and the logits of each pass become the next
// token. A prompt of n tokens is accepted when 1 <= n <= ctx; at most ctx - n + 1 tokens follow, since the last needs
// no place in the cache.
class Generation {
 public:
  // Plans the prompt. Errors are those of Session::plan and Sampler.
  Generation(Session& session, const Engine& engine, std::span<const TokenId> prompt, const GenerateOptions& options,
             OnToken on_token);

  [[nodiscard]] bool done() const noexcept { return done_; }

  // When all that was planned has been computed: chooses the next token from the session's logits and plans it, or is
  // done.
  void advance();

  [[nodiscard]] Generated take_result();

 private:
  using Clock = std::chrono::steady_clock;

  void choose();

  Session& session_;
  const Engine& engine_;
  OnToken on_token_;
  int64_t logprobs_;
  sampling::Sampler sampler_;
  int64_t most_;  // tokens that may follow the prompt
  Generated result_;
  bool done_ = false;
  Clock::time_point start_;
  Clock::time_point decode_start_;
};

// The whole of it, alone.
[[nodiscard]] Generated generate(Session& session, const Engine& engine, std::span<const TokenId> prompt,
                                 const GenerateOptions& options, const OnToken& on_token = {});

}  // namespace lockstep::engine
