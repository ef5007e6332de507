// Stages that scale logits. Semantics are those of llama.cpp v0.4.0 (src/llama-sampler.cpp).
#pragma once

#include "sampling/candidates.h"

namespace lockstep::sampling {

// Divides every logit by t. t <= 0, or a t so small that a quotient overflows, keeps the best alone.
void temperature(Candidates& list, float t);

}  // namespace lockstep::sampling
