// DRY ("don't repeat yourself"): a token that would continue a repetition of the last accepted tokens is lowered by
// multiplier * base^(length of the repetition - allowed length). Repetitions do not reach over a sequence breaker.
// Semantics are those of llama.cpp v0.4.0 (src/llama-sampler.cpp; the idea is p-e-w's, text-generation-webui #5677).
#pragma once

#include <cstdint>
#include <span>

#include "sampling/candidates.h"
#include "sampling/dry_breakers.h"

namespace lockstep::sampling {

struct Dry {
  float multiplier;  // 0 = off
  float base;        // below 1 = off
  int32_t allowed_length;
  const DryBreakers& breakers;
};

// Lowers the logits of continuing tokens; `window` is the part of the history that is looked at. Linear in the window.
void dry(Candidates& list, std::span<const TokenId> window, const Dry& by);

}  // namespace lockstep::sampling
