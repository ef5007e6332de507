#include "sampling/logit_bias.h"

#include <limits>

#include "sampling/adjust.h"

namespace lockstep::sampling {

void logit_bias(Candidates& list, std::span<const LogitBias> biases) {
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  bool removes = false;
  for (const LogitBias& entry : biases) {
    Candidate* candidate = find_candidate(list, entry.id);
    if (candidate == nullptr) continue;
    if (entry.bias == kImpossible || candidate->logit == kImpossible) {
      candidate->logit = kImpossible;
      removes = true;
    } else {
      candidate->logit = within_float(candidate->logit + entry.bias);
    }
  }
  if (removes) std::erase_if(list.items, [](const Candidate& c) { return c.logit == kImpossible; });
  if (list.order == Order::kByLogit) list.order = Order::kNone;
}

}  // namespace lockstep::sampling
