#include "sampling/truncate.h"

#include <algorithm>

#include "sampling/exp64.h"

namespace lockstep::sampling {

void top_k(Candidates& list, int64_t k) {
  if (k > 0) keep_best(list, static_cast<size_t>(k));
}

void top_p(Candidates& list, float p, size_t min_keep) {
  if (p >= 1.0f) return;
  sort_by_logit(list);
  const std::vector<double> probability = probabilities(list);
  double cumulative = 0;
  for (size_t i = 0; i < probability.size(); ++i) {
    cumulative += probability[i];
    if (cumulative >= double{p} && i + 1 >= min_keep) {
      list.items.resize(i + 1);
      return;
    }
  }
}

void min_p(Candidates& list, float p, size_t min_keep) {
  if (p <= 0.0f) return;
  const double lowest = double{list.items[best_index(list)].logit} + log64(double{p});
  const auto improbable = [lowest](const Candidate& c) { return double{c.logit} < lowest; };
  const auto n_kept =
      list.items.size() - static_cast<size_t>(std::count_if(list.items.begin(), list.items.end(), improbable));
  const size_t wanted = std::max<size_t>({n_kept, min_keep, 1});
  if (wanted > n_kept) {
    keep_best(list, wanted);
  } else {
    std::erase_if(list.items, improbable);
  }
}

}  // namespace lockstep::sampling
