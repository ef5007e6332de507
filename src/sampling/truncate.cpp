#include "sampling/truncate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/exp64.h"

namespace lockstep::sampling {

void top_k(Candidates& list, int64_t k) {
  if (k > 0) keep_best(list, static_cast<size_t>(k));
}

void top_p(Candidates& list, float p, size_t min_keep) {
  if (p >= 1.0f) return;
  sort_by_logit(list);
  const std::span<const double> probability = probabilities(list);
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

void typical(Candidates& list, float p, size_t min_keep) {
  if (p >= 1.0f) return;
  sort_by_logit(list);
  const std::span<const double> probability = probabilities(list);
  std::vector<double>& distance =
      list.scratch.distances;  // of the surprise from the entropy; first the surprise itself
  distance.resize(probability.size());
  double list_entropy = 0;
  for (size_t i = 0; i < probability.size(); ++i) {
    distance[i] = -log64(probability[i]);
    if (probability[i] > 0) list_entropy += probability[i] * distance[i];
  }
  for (double& d : distance) d = std::abs(d - list_entropy);
  std::vector<size_t>& rank = list.scratch.sizes;
  rank.resize(probability.size());
  std::iota(rank.begin(), rank.end(), size_t{0});
  std::sort(rank.begin(), rank.end(),
            [&distance](size_t a, size_t b) { return distance[a] != distance[b] ? distance[a] < distance[b] : a < b; });
  size_t n_kept = 0;
  for (double cumulative = 0;
       n_kept < rank.size() && (cumulative <= double{p} || n_kept < std::max<size_t>(min_keep, 1)); ++n_kept) {
    cumulative += probability[rank[n_kept]];
  }
  std::vector<Candidate>& kept = list.scratch.candidates;
  kept.clear();
  for (size_t i = 0; i < n_kept; ++i) kept.push_back(list.items[rank[i]]);
  std::sort(kept.begin(), kept.end(), ranks_before);
  list.items.swap(kept);
}

void top_n_sigma(Candidates& list, float n) {
  if (n <= 0.0f) return;
  const auto count = static_cast<double>(list.items.size());
  double sum = 0;
  for (const Candidate& c : list.items) sum += c.logit;
  const double mean = sum / count;
  double squares = 0;
  for (const Candidate& c : list.items) squares += (c.logit - mean) * (c.logit - mean);
  const double lowest = list.items[best_index(list)].logit - double{n} * std::sqrt(squares / count);
  std::erase_if(list.items, [lowest](const Candidate& c) { return double{c.logit} < lowest; });
}

void xtc(Candidates& list, float threshold, size_t min_keep) {
  if (threshold > 0.5f || list.items.size() < 2) return;
  sort_by_logit(list);
  const std::span<const double> probability = probabilities(list);
  const auto first_below =
      std::find_if(probability.begin(), probability.end(), [threshold](double p) { return p < double{threshold}; });
  const auto n_top = first_below - probability.begin();
  if (n_top < 2) return;
  const auto n_removed = n_top - 1;
  if (list.items.size() - static_cast<size_t>(n_removed) < min_keep) return;
  list.items.erase(list.items.begin(), list.items.begin() + n_removed);
}

}  // namespace lockstep::sampling
