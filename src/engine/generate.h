// From a prompt to an answer: the loop of forward pass, sampling and stopping.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "sampling/logits.h"
#include "sampling/sampling_params.h"

namespace lockstep::engine {

struct GenerateOptions {
  sampling::SamplingParams sampling;
  int64_t n_predict = -1;   // most tokens to generate; -1: until the model stops or the context is full
  bool ignore_eos = false;  // end-of-generation tokens are never chosen
  int64_t logprobs = -1;    // with every step the log-probability of its token and of the K best; -1: none
};

enum class FinishReason { kStop, kLength, kCancelled };
[[nodiscard]] std::string_view to_string(FinishReason reason);

struct Generated {
  std::vector<TokenId> ids;                     // the end-of-generation token included, where one ended it
  std::vector<sampling::StepLogprobs> steps;    // one per id when asked for
  FinishReason finish = FinishReason::kLength;
  Session::Synced prompt = {};
  double prompt_ms = 0;
  double decode_ms = 0;
};

// Called with each id as soon as it is chosen; false ends the generation (kCancelled).
using OnToken = std::function<bool(TokenId)>;

// A prompt of n tokens is accepted when 1 <= n <= ctx; at most ctx - n + 1 tokens follow, since the last needs no place in the
// cache. Errors are those of Session::sync and Sampler.
[[nodiscard]] Generated generate(Session& session, const Engine& engine, std::span<const TokenId> prompt, const GenerateOptions& options,
                                 const OnToken& on_token = {});

}  // namespace lockstep::engine
