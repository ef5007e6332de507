#include "sampling/temperature.h"

#include <algorithm>
#include <cmath>

namespace lockstep::sampling {

void temperature(Candidates& list, float t) {
  const auto overflows = [t](const Candidate& c) { return !std::isfinite(c.logit / t); };
  if (t <= 0.0f || std::any_of(list.items.begin(), list.items.end(), overflows)) {
    list.items = {list.items[best_index(list)]};
    list.order = Order::kByLogit;
    return;
  }
  for (Candidate& c : list.items) c.logit /= t;
  // Different logits may have become equal, whose order is by id.
  if (list.order == Order::kByLogit) list.order = Order::kNone;
}

}  // namespace lockstep::sampling
