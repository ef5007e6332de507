#include "sampling/nearest.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "sampling/indices_where.h"

namespace lockstep::sampling {
namespace {

// Entry a before entry b.
auto precedes(const Candidates& list, const Distance& distance) {
  return [&list, distance](uint32_t a, uint32_t b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : ranks_before(list[a], list[b]);
  };
}

template <typename Condition>
std::span<uint32_t> without(std::span<uint32_t> entries, const Condition& condition) {
  const auto rest = std::remove_if(entries.begin(), entries.end(), condition);
  return entries.first(static_cast<size_t>(rest - entries.begin()));
}

// The entries within a distance of 4, or 8, or 16 ..., the first that suffices for the sum.
std::span<uint32_t> find_reaching(Candidates& list, const Weights& weights, uint64_t target, const Distance& distance) {
  for (float most = 4;; most *= 2) {
    const auto found = indices_where(
        list.size(), [distance, most](size_t i) { return distance(i) <= most; }, list.scratch.indices);
    uint64_t sum = 0;
    for (const uint32_t i : found) sum += weights.of[i];
    if (sum >= target) return found;
  }
}

// A part of the order: its entries, and the sum of the weights of all that come before it.
struct Band {
  std::span<uint32_t> entries;
  uint64_t before;
};

// The part of the band in which the sum is reached; smaller unless all distances are equal.
Band narrow(Band band, const Weights& weights, uint64_t target, const Distance& distance) {
  constexpr size_t kParts = 512;
  const auto [least, most] = std::ranges::minmax(band.entries, {}, distance);
  const double start = distance(least);
  const double width = distance(most) - start;
  if (!(width > 0)) return band;
  const double scale = (kParts - 1) / width;
  const auto part = [&](uint32_t i) {
    return static_cast<size_t>(static_cast<int32_t>((distance(i) - start) * scale));
  };
  std::array<uint64_t, kParts> sums{};
  for (const uint32_t i : band.entries) sums[part(i)] += weights.of[i];
  size_t wanted = 0;
  while (band.before + sums[wanted] < target) band.before += sums[wanted++];
  return {without(band.entries, [&](uint32_t i) { return part(i) != wanted; }), band.before};
}

// Of entries whose weights reach the sum, the one with which they do; leaves them in any order.
uint32_t last_needed(std::span<uint32_t> entries, const Candidates& list, const Weights& weights, uint64_t target,
                     const Distance& distance) {
  constexpr size_t kFew = 64;
  Band band = {entries, 0};
  for (size_t n_before = 0; band.entries.size() > kFew && band.entries.size() != n_before;) {
    n_before = band.entries.size();
    band = narrow(band, weights, target, distance);
  }
  // Very many are left only where their distances are equal, and then they may stand by rank already.
  if (!std::ranges::is_sorted(band.entries, precedes(list, distance))) {
    std::ranges::sort(band.entries, precedes(list, distance));
  }
  size_t i = 0;
  for (uint64_t sum = band.before + weights.of[band.entries[0]]; sum < target;) sum += weights.of[band.entries[++i]];
  return band.entries[i];
}

void keep_nearest(Candidates& list, size_t count, const Distance& distance) {
  if (count >= list.size()) return;
  const auto indices = std::span(list.scratch.indices).first(list.size());
  std::iota(indices.begin(), indices.end(), 0u);
  const auto end = indices.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(indices.begin(), end, indices.end(), precedes(list, distance));
  std::sort(indices.begin(), end);
  keep_only(list, indices.first(count));
}

}  // namespace

size_t nearest_reaching(Candidates& list, const Weights& weights, uint64_t target, const Distance& distance) {
  return last_needed(find_reaching(list, weights, target, distance), list, weights, target, distance);
}

void keep_reaching(Candidates& list, const Weights& weights, uint64_t target, const Distance& distance,
                   size_t min_keep) {
  const auto found = find_reaching(list, weights, target, distance);
  std::vector<uint32_t>& entries = list.scratch.entries;
  entries.assign(found.begin(), found.end());
  const uint32_t last = last_needed(entries, list, weights, target, distance);
  const auto kept = without(found, [last, before = precedes(list, distance)](uint32_t i) { return before(last, i); });
  if (kept.size() < min_keep) return keep_nearest(list, min_keep, distance);
  keep_only(list, kept);
}

size_t draw_index(Candidates& list, const Weights& weights, double u) {
  return nearest_reaching(list, weights, weights.exceeding(u), {list.logits.data(), weights.best});
}

}  // namespace lockstep::sampling
