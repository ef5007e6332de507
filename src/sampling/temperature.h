// Stages that scale logits. Semantics are those of llama.cpp v0.4.0 (src/llama-sampler.cpp).
#pragma once

#include "sampling/candidates.h"

namespace lockstep::sampling {

// Divides every logit by t. t <= 0, or a t so small that a quotient overflows, keeps the best alone.
void temperature(Candidates& list, float t);

// Dynamic temperature: t - range (0 at least) when the list is certain, t + range when all are equally probable,
// between them by (entropy / largest possible entropy)^exponent. range <= 0 = the plain temperature t; a single
// candidate stays as it is.
void dynamic_temperature(Candidates& list, float t, float range, float exponent);

}  // namespace lockstep::sampling
