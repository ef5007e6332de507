// What is kept or drawn of a list when its entries are taken in some order until their weights reach a sum, without
// sorting the list: it is narrowed down to few entries that hold the answer, and only those are sorted. Pure functions,
// safe from any thread. All REQUIRE a list that is not empty, and its weights.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "sampling/candidates.h"
#include "sampling/token_weights.h"

namespace lockstep::sampling {

// The order: by distance of the logit from best - center, by rank where distances are equal. Center 0 orders by rank.
struct Distance {
  const float* logits;
  float best;
  float center = 0;

  [[nodiscard]] float operator()(size_t i) const { return std::abs(best - logits[i] - center); }
};

// The entry with which the weights of the list reach `target`, 1 to weights.total, in the order of their distance.
// O(size of the list) but for contrived logits.
[[nodiscard]] size_t nearest_reaching(Candidates& list, const Weights& weights, uint64_t target,
                                      const Distance& distance);

// Keeps the fewest nearest whose weights reach `target` together and that are min_keep at least.
void keep_reaching(Candidates& list, const Weights& weights, uint64_t target, const Distance& distance,
                   size_t min_keep);

// The entry that a uniform number u of [0, 1) selects: by rank, the first whose cumulative probability exceeds u.
[[nodiscard]] size_t draw_index(Candidates& list, const Weights& weights, double u);

}  // namespace lockstep::sampling
