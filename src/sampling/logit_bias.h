// Logit bias: numbers that a request adds to the logits of chosen tokens, before any other stage.
#pragma once

#include <span>

#include "sampling/candidates.h"

namespace lockstep::sampling {

struct LogitBias {
  TokenId id;
  float bias;  // finite, or -infinity: the token must not come
};

// Adds the biases; sums beyond the range of float stop at its ends. Tokens with -infinity are removed, also when
// nothing is left.
void logit_bias(Candidates& list, std::span<const LogitBias> biases);

}  // namespace lockstep::sampling
