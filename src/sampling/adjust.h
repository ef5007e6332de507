// Stages that change the logits of a few tokens find them and stay finite through these two.
#pragma once

#include <algorithm>
#include <limits>

#include "sampling/candidates.h"

namespace lockstep::sampling {

// The entry of token `id`, null when it was removed. Binary search while the list stands by id, else a scan (such a
// list is short in any usual order of stages).
[[nodiscard]] inline Candidate* find_candidate(Candidates& list, TokenId id) {
  auto& items = list.items;
  auto found = items.begin();
  if (list.order == Order::kById) {
    found = std::lower_bound(items.begin(), items.end(), id,
                             [](const Candidate& c, TokenId wanted) { return c.id < wanted; });
  } else {
    found = std::find_if(items.begin(), items.end(), [id](const Candidate& c) { return c.id == id; });
  }
  return found != items.end() && found->id == id ? &*found : nullptr;
}

// A changed number, kept in the range of finite floats: an infinite logit would turn the softmax into NaN.
[[nodiscard]] inline float within_float(double x) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(x, -kLargest, kLargest));
}

}  // namespace lockstep::sampling
