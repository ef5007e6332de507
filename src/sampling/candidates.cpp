#include "sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sampling/adjust.h"
#include "sampling/indices_where.h"
#include "sampling/logits.h"
#include "sampling/select_best.h"

namespace lockstep::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kImpossible = -kInfinity;

// The smallest finite float that is not below `bound`, +infinity when there is none.
float float_from(double bound) {
  const float near = within_float(bound);
  return near < bound ? std::nextafter(near, kInfinity) : near;
}

// Memory for whatever stages do with n entries: that they keep more than the last time allocates nothing.
void make_room(Candidates& list, size_t n) {
  Scratch& scratch = list.scratch;
  if (scratch.indices.size() >= n) return;
  list.ids.reserve(n);
  list.logits.reserve(n);
  scratch.candidates.reserve(n);
  scratch.entries.reserve(n);
  scratch.weights.resize(n);
  scratch.indices.resize(n);
}

}  // namespace

void assign_all(Candidates& list, std::span<const float> logits) {
  make_room(list, logits.size());
  list.ids.clear();
  list.logits.assign(logits.begin(), logits.end());
  unsigned n_impossible = 0;
  for (const float x : logits) n_impossible += static_cast<unsigned>(x == kImpossible);
  if (n_impossible != 0) remove_impossible(list);
}

void remove_impossible(Candidates& list) {
  const float* logits = list.logits.data();
  keep_only(list, indices_where(
                      list.size(), [logits](size_t i) { return logits[i] != kImpossible; }, list.scratch.indices));
}

void assign(Candidates& list, std::span<Candidate> items) {
  std::ranges::sort(items, {}, &Candidate::id);
  list.ids.clear();
  list.logits.clear();
  make_room(list, items.size());
  for (const Candidate& c : items) {
    list.ids.push_back(c.id);
    list.logits.push_back(c.logit);
  }
}

void keep_only(Candidates& list, std::span<const uint32_t> indices) {
  if (indices.size() == list.size()) return;
  if (list.ids.empty()) {
    list.ids.assign(indices.begin(), indices.end());
  } else {
    for (size_t i = 0; i < indices.size(); ++i) list.ids[i] = list.ids[indices[i]];
    list.ids.resize(indices.size());
  }
  for (size_t i = 0; i < indices.size(); ++i) list.logits[i] = list.logits[indices[i]];
  list.logits.resize(indices.size());
}

void keep_from(Candidates& list, double lowest, size_t min_keep) {
  const auto is_kept = [logits = list.logits.data(), bar = float_from(lowest)](size_t i) { return logits[i] >= bar; };
  const auto kept = indices_where(list.size(), is_kept, list.scratch.indices);
  if (kept.size() < min_keep) return keep_best(list, min_keep);
  keep_only(list, kept);
}

void keep_best(Candidates& list, size_t k) {
  if (k >= list.size()) return;
  select_best(
      list.size(), k, [&list](size_t i) { return list[i]; }, list.scratch.candidates);
  assign(list, list.scratch.candidates);
}

size_t best_index(const Candidates& list) {
  return static_cast<size_t>(argmax(list.logits));
}

}  // namespace lockstep::sampling
