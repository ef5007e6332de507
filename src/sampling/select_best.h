// The k best of very many candidates in one pass, without sorting the rest: entries that beat the worst of the k best
// so far go into a small buffer, which is cut back to k whenever it is full. For a vocabulary of 150 000 nearly every
// entry costs one comparison.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "sampling/candidates.h"

namespace lockstep::sampling {

// Into `best` (its memory is kept), sorted by ranks_before. at(i) gives candidate i of n, from somewhere else than
// `best`; entries with a logit of -infinity or NaN are passed over.
template <typename At>
void select_best(size_t n, size_t k, const At& at, std::vector<Candidate>& best) {
  best.clear();
  if (k == 0) return;
  k = std::min(k, n);
  const size_t capacity = std::min(n, std::max<size_t>(2 * k, 256));
  best.reserve(capacity);
  float bar = std::numeric_limits<float>::lowest();  // the worst logit that can still be among the k best
  for (size_t i = 0; i < n; ++i) {
    const Candidate candidate = at(i);
    if (!(candidate.logit >= bar)) continue;
    best.push_back(candidate);
    if (best.size() < capacity || best.size() == k) continue;
    std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(k - 1), best.end(), ranks_before);
    best.resize(k);
    bar = best.back().logit;
  }
  std::sort(best.begin(), best.end(), ranks_before);
  best.resize(std::min(best.size(), k));
}

}  // namespace lockstep::sampling
