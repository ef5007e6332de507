// Stages that remove improbable candidates. Semantics are those of llama.cpp v0.4.0 (src/llama-sampler.cpp), computed
// in fp64; `min_keep` entries at least are kept where that engine has it, and one entry at least always. Values that
// switch a stage off leave the list as it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sampling/candidates.h"

namespace lockstep::sampling {

// Keeps the k best. k <= 0 = off.
void top_k(Candidates& list, int64_t k);

// Nucleus sampling: keeps the fewest best whose probabilities reach p together. p >= 1 = off; p <= 0 keeps one.
void top_p(Candidates& list, float p, size_t min_keep);

// Keeps those at least p times as probable as the best. p <= 0 = off.
void min_p(Candidates& list, float p, size_t min_keep);

}  // namespace lockstep::sampling
