#include "sampling/logit_bias.h"

#include <limits>

#include "sampling/adjust.h"

namespace lockstep::sampling {

void logit_bias(Candidates& list, std::span<const LogitBias> biases) {
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  bool removes = false;
  for (const LogitBias& entry : biases) {
    float* logit = find_logit(list, entry.id);
    if (logit == nullptr) continue;
    if (entry.bias == kImpossible || *logit == kImpossible) {
      *logit = kImpossible;
      removes = true;
    } else {
      *logit = within_float(*logit + entry.bias);
    }
  }
  if (removes) remove_impossible(list);
}

}  // namespace lockstep::sampling
