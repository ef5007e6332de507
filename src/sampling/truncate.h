// Stages that remove improbable candidates. Semantics are those of llama.cpp v0.4.0 (src/llama-sampler.cpp),
// probabilities those of token_weights.h; `min_keep` entries at least are kept where that engine has it, and one entry
// at least always. Values that switch a stage off leave the list as it is. All REQUIRE a list that is not empty.
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

// Locally typical sampling (Meister et al., 2022): keeps the fewest tokens whose surprise is closest to the entropy of
// the list and whose probabilities exceed p together; it may remove the best one. p >= 1 = off.
void typical(Candidates& list, float p, size_t min_keep);

// Keeps logits within n standard deviations (of the logits of the list) below the largest (Tang et al., 2024). n <= 0 =
// off. llama.cpp leaves the others in its list with -infinity, where a later dynamic temperature still counts them;
// here they go.
void top_n_sigma(Candidates& list, float n);

// "Exclude top choices": of the tokens with a probability of at least `threshold`, all but the least probable go.
// Whether the stage acts at this step is the caller's to draw. threshold > 0.5 = off: two such tokens cannot be.
void xtc(Candidates& list, float threshold, size_t min_keep);

}  // namespace lockstep::sampling
