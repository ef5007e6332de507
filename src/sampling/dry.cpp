#include "sampling/dry.h"

#include <algorithm>

#include "base/exp64.h"
#include "sampling/adjust.h"

namespace lockstep::sampling {
namespace {

// How many of the last tokens a repetition may reach back: up to the end of the last breaker in the window.
size_t reach(std::span<const TokenId> window, const DryBreakers& breakers) {
  for (size_t start = window.size(); start-- > 0;) {
    const size_t longest = breakers.longest_at(window.subspan(start));
    if (longest > 0) return window.size() - start - longest;
  }
  return window.size();
}

// z[k]: how many of the last tokens also stand directly before the last k tokens (the Z function of the reversed
// window; Gusfield, "Algorithms on Strings, Trees and Sequences", section 1.4). z[0] is not used.
void repetition_lengths(std::span<const TokenId> window, std::vector<size_t>& z) {
  const size_t n = window.size();
  const auto back = [window, n](size_t i) { return window[n - 1 - i]; };
  z.assign(n, 0);
  size_t left = 0;  // [left, right) is the match found so far that reaches furthest back
  size_t right = 0;
  for (size_t k = 1; k < n; ++k) {
    size_t length = k < right ? std::min(right - k, z[k - left]) : 0;
    while (k + length < n && back(length) == back(k + length)) ++length;
    z[k] = length;
    if (k + length > right) {
      left = k;
      right = k + length;
    }
  }
}

// For every token that would continue a repetition of at least the allowed length: the longest such repetition.
std::span<const Counted> continuations(std::span<const TokenId> window, size_t longest, size_t allowed,
                                       Scratch& scratch) {
  std::vector<size_t>& z = scratch.sizes;
  repetition_lengths(window, z);
  std::vector<Counted>& found = scratch.counted;
  found.clear();
  for (size_t k = 1; k < z.size(); ++k) {
    const size_t length = std::min(z[k], longest);
    if (length >= allowed) found.push_back({window[window.size() - k], length});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.id != b.id ? a.id < b.id : a.count > b.count; });
  const auto same = [](const auto& a, const auto& b) { return a.id == b.id; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

// The largest exponent for which base^exponent stays a finite float.
size_t largest_exponent(float base) {
  constexpr double kLogOfLargestFloat = 88.7228391;
  if (base <= 1.000001f) return SIZE_MAX;
  return static_cast<size_t>(kLogOfLargestFloat / log64(double{base}));
}

}  // namespace

void dry(Candidates& list, std::span<const TokenId> window, const Dry& by) {
  if (by.multiplier == 0.0f || by.base < 1.0f) return;
  const auto allowed = static_cast<size_t>(by.allowed_length);
  if (window.size() <= allowed) return;
  const size_t longest = reach(window, by.breakers);
  if (longest < allowed) return;
  const size_t exponent_limit = largest_exponent(by.base);
  for (const Counted& next : continuations(window, longest, allowed, list.scratch)) {
    float* logit = find_logit(list, next.id);
    if (logit == nullptr || by.breakers.has_alone(next.id)) continue;
    const size_t exponent = std::min(next.count - allowed, exponent_limit);
    const double penalty = double{by.multiplier} * integer_power(double{by.base}, static_cast<uint32_t>(exponent));
    *logit = within_float(*logit - penalty);
  }
}

}  // namespace lockstep::sampling
