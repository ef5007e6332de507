#include "sampling/temperature.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/exp64.h"
#include "sampling/adjust.h"
#include "sampling/token_weights.h"

namespace lockstep::sampling {
namespace {

// The bits of numbers above zero ascend like the numbers.
float largest_magnitude(std::span<const float> x) {
  int32_t bits = 0;
  for (const float value : x) bits = std::max(bits, std::bit_cast<int32_t>(value) & 0x7fffffff);
  return std::bit_cast<float>(bits);
}

}  // namespace

void temperature(Candidates& list, float t) {
  if (t == 1.0f) return;
  if (t <= 0.0f || !std::isfinite(largest_magnitude(list.logits) / t)) return keep_best(list, 1);
  for (float& logit : list.logits) logit /= t;
}

void dynamic_temperature(Candidates& list, float t, float range, float exponent) {
  if (range <= 0.0f) return temperature(list, t);
  if (list.size() < 2) return;
  const Weights weights = weigh(list);
  const double entropy = weights.least_surprise() + mean_depth(list, weights);
  const double share = std::clamp(entropy / log64(static_cast<double>(list.size())), 0.0, 1.0);
  const double lowest = std::max(0.0, double{t} - double{range});
  const double highest = double{t} + double{range};
  temperature(list, within_float(lowest + (highest - lowest) * pow64(share, exponent)));
}

}  // namespace lockstep::sampling
