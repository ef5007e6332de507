// Stages that change the logits of a few tokens find them and stay finite through these two.
#pragma once

#include <algorithm>
#include <limits>

#include "sampling/candidates.h"

namespace lockstep::sampling {

// The logit of token `id`, null when it was removed.
[[nodiscard]] inline float* find_logit(Candidates& list, TokenId id) {
  const auto found = std::lower_bound(list.ids.begin(), list.ids.end(), id);
  const auto i = static_cast<size_t>(list.ids.empty() ? id : found - list.ids.begin());
  return i < list.size() && list.id(i) == id ? &list.logits[i] : nullptr;
}

// A changed number, kept in the range of finite floats: an infinite logit would turn the softmax into NaN.
[[nodiscard]] inline float within_float(double x) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(x, -kLargest, kLargest));
}

}  // namespace lockstep::sampling
