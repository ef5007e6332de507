#include "sampling/token_weights.h"

#include <cmath>

#include "base/exp64.h"
#include "sampling/interleaved_sum.h"
#include "sampling/logits.h"

namespace lockstep::sampling {
namespace {

uint64_t within(double sum, uint64_t total) {
  const auto most = static_cast<double>(total);
  return sum < most ? static_cast<uint64_t>(std::max(sum, 1.0)) : total;
}

}  // namespace

double Weights::least_surprise() const {
  return log64(static_cast<double>(total) / kWeightOfBest);
}

uint64_t Weights::reaching(double p) const {
  return within(std::ceil(p * static_cast<double>(total)), total);
}

uint64_t Weights::exceeding(double p) const {
  return within(std::floor(p * static_cast<double>(total)) + 1, total);
}

Weights weigh(Candidates& list) {
  const size_t n = list.size();
  const float* logits = list.logits.data();
  uint32_t* weights = list.scratch.weights.data();
  const float best = largest(list.logits);
  uint64_t total = 0;
  for (size_t i = 0; i < n; ++i) {
    weights[i] = weight(best - logits[i]);
    total += weights[i];
  }
  return {{weights, n}, best, total};
}

double mean_depth(const Candidates& list, const Weights& weights) {
  const auto depth = [of = weights.of.data(), logits = list.logits.data(), best = double{weights.best}](size_t i) {
    return static_cast<int32_t>(of[i]) * (best - logits[i]);
  };
  return interleaved_sum(list.size(), depth) / static_cast<double>(weights.total);
}

}  // namespace lockstep::sampling
