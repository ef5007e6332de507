#include "sampling/truncate.h"

#include <algorithm>
#include <cmath>

#include "base/exp64.h"
#include "sampling/indices_where.h"
#include "sampling/interleaved_sum.h"
#include "sampling/logits.h"
#include "sampling/nearest.h"
#include "sampling/token_weights.h"

namespace lockstep::sampling {

void top_k(Candidates& list, int64_t k) {
  if (k > 0) keep_best(list, static_cast<size_t>(k));
}

void top_p(Candidates& list, float p, size_t min_keep) {
  if (p >= 1.0f) return;
  const Weights weights = weigh(list);
  keep_reaching(list, weights, weights.reaching(double{p}), {list.logits.data(), weights.best}, min_keep);
}

void min_p(Candidates& list, float p, size_t min_keep) {
  if (p <= 0.0f) return;
  keep_from(list, largest(list.logits) + log64(double{p}), std::max<size_t>(min_keep, 1));
}

void typical(Candidates& list, float p, size_t min_keep) {
  if (p >= 1.0f) return;
  const Weights weights = weigh(list);
  // Surprise and entropy are a depth below the best and its mean, both more by the surprise of the best.
  const auto entropy = static_cast<float>(mean_depth(list, weights));
  keep_reaching(list, weights, weights.exceeding(double{p}), {list.logits.data(), weights.best, entropy}, min_keep);
}

void top_n_sigma(Candidates& list, float n) {
  if (n <= 0.0f) return;
  const auto count = static_cast<double>(list.size());
  const float* logits = list.logits.data();
  const double mean = interleaved_sum(list.size(), [logits](size_t i) { return double{logits[i]}; }) / count;
  const double squares =
      interleaved_sum(list.size(), [logits, mean](size_t i) { return (logits[i] - mean) * (logits[i] - mean); });
  keep_from(list, largest(list.logits) - double{n} * std::sqrt(squares / count), 1);
}

void xtc(Candidates& list, float threshold, size_t min_keep) {
  if (threshold > 0.5f || list.size() < 2) return;
  const Weights weights = weigh(list);
  const double bar = std::ceil(std::max(double{threshold}, 0.0) * static_cast<double>(weights.total));
  const auto least_weight = static_cast<uint32_t>(std::min(bar, 2 * kWeightOfBest));
  const auto is_top = [of = weights.of.data(), least_weight](size_t i) { return of[i] >= least_weight; };
  const auto top = indices_where(list.size(), is_top, list.scratch.indices);
  if (top.size() < 2) return;
  if (list.size() - (top.size() - 1) < min_keep) return;
  const uint32_t least =
      *std::ranges::max_element(top, [&list](uint32_t a, uint32_t b) { return ranks_before(list[a], list[b]); });
  keep_only(list,
            indices_where(
                list.size(), [&is_top, least](size_t i) { return !is_top(i) || i == least; }, list.scratch.indices));
}

}  // namespace lockstep::sampling
