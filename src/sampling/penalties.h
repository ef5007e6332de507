// Repetition penalties over the last accepted tokens. Semantics are those of llama.cpp v0.4.0 (src/llama-sampler.cpp).
#pragma once

#include <cstdint>
#include <span>

#include "sampling/candidates.h"

namespace lockstep::sampling {

// The last n tokens of a history: none for 0, all for -1. The size of the window never allocates anything.
[[nodiscard]] std::span<const TokenId> last_tokens(std::span<const TokenId> history, int32_t n);

struct Penalties {
  float repeat;     // divides a positive logit, multiplies another; 1 = off
  float frequency;  // subtracted once for every occurrence in the window
  float presence;   // subtracted once
};

// Lowers (or raises, for negative penalties) the logits of the tokens in the window. Sums stop at the ends of float.
void penalties(Candidates& list, std::span<const TokenId> window, const Penalties& by);

}  // namespace lockstep::sampling
