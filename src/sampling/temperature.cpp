#include "sampling/temperature.h"

#include <algorithm>
#include <cmath>

#include "base/exp64.h"
#include "sampling/adjust.h"

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

void dynamic_temperature(Candidates& list, float t, float range, float exponent) {
  if (range <= 0.0f) return temperature(list, t);
  if (list.items.size() < 2) return;
  sort_by_logit(list);
  double entropy = 0;
  for (const double p : probabilities(list)) {
    if (p > 0) entropy -= p * log64(p);
  }
  const double share = std::clamp(entropy / log64(static_cast<double>(list.items.size())), 0.0, 1.0);
  const double lowest = std::max(0.0, double{t} - double{range});
  const double highest = double{t} + double{range};
  temperature(list, within_float(lowest + (highest - lowest) * pow64(share, exponent)));
}

}  // namespace lockstep::sampling
