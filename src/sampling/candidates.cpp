#include "sampling/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/exp64.h"
#include "sampling/select_best.h"

namespace lockstep::sampling {
namespace {

constexpr size_t kRadixFrom = 1024;  // below, a comparison sort is faster

// A key that ascends while the logit descends; both zeros have the same.
uint32_t descending_key(float logit) {
  const auto bits = std::bit_cast<uint32_t>(logit + 0.0f);
  return (bits & 0x80000000u) != 0 ? bits : ~(bits | 0x80000000u);
}

// Sorts a whole vocabulary by logit: three stable passes of a counting sort over 11 bits of the key, so that equal
// logits keep the order of their ids. REQUIRES: ids ascending.
void radix_sort(std::vector<Candidate>& items, std::vector<Candidate>& other) {
  constexpr int kBits = 11;
  constexpr uint32_t kBuckets = 1u << kBits;
  other.resize(items.size());
  for (int shift = 0; shift < 32; shift += kBits) {
    const auto bucket = [shift](const Candidate& c) { return (descending_key(c.logit) >> shift) % kBuckets; };
    std::array<size_t, kBuckets> start{};
    for (const Candidate& c : items) ++start[bucket(c)];
    size_t sum = 0;
    for (size_t& count : start) sum += std::exchange(count, sum);
    for (const Candidate& c : items) other[start[bucket(c)]++] = c;
    items.swap(other);
  }
}

}  // namespace

void assign_all(Candidates& list, std::span<const float> logits) {
  list.items.clear();
  list.items.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == -std::numeric_limits<float>::infinity()) continue;
    list.items.push_back({static_cast<TokenId>(i), logits[i]});
  }
  list.order = Order::kById;
}

void sort_by_logit(Candidates& list) {
  if (list.order == Order::kByLogit) return;
  if (list.order == Order::kById && list.items.size() >= kRadixFrom) {
    radix_sort(list.items, list.scratch.candidates);
  } else if (!std::is_sorted(list.items.begin(), list.items.end(), ranks_before)) {
    std::sort(list.items.begin(), list.items.end(), ranks_before);
  }
  list.order = Order::kByLogit;
}

void keep_best(Candidates& list, size_t k) {
  if (list.order != Order::kByLogit && k < list.items.size()) {
    select_best(
        list.items.size(), k, [&list](size_t i) { return list.items[i]; }, list.scratch.candidates);
    list.items.swap(list.scratch.candidates);
    list.order = Order::kByLogit;
    return;
  }
  sort_by_logit(list);
  list.items.resize(std::min(list.items.size(), k));
}

size_t best_index(const Candidates& list) {
  if (list.order == Order::kByLogit) return 0;
  const auto best = std::min_element(list.items.begin(), list.items.end(), ranks_before);
  return static_cast<size_t>(best - list.items.begin());
}

std::span<const double> probabilities(Candidates& list) {
  const double best = list.items[best_index(list)].logit;
  std::vector<double>& result = list.scratch.probabilities;
  result.reserve(list.items.capacity());  // a list that grows again allocates nothing
  result.resize(list.items.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = exp64(double{list.items[i].logit} - best);
  double sum = 0;
  for (const double weight : result) sum += weight;
  for (double& weight : result) weight /= sum;
  return result;
}

size_t draw_index(std::span<const double> probabilities, double u) {
  size_t last_possible = 0;
  double cumulative = 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    cumulative += probabilities[i];
    if (u < cumulative) return i;
    if (probabilities[i] > 0) last_possible = i;
  }
  return last_possible;  // the sum may round to a little less than 1
}

}  // namespace lockstep::sampling
