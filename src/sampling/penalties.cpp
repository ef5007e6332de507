#include "sampling/penalties.h"

#include <algorithm>
#include <vector>

#include "sampling/adjust.h"

namespace lockstep::sampling {

std::span<const TokenId> last_tokens(std::span<const TokenId> history, int32_t n) {
  if (n < 0 || static_cast<size_t>(n) >= history.size()) return history;
  return history.last(static_cast<size_t>(n));
}

void penalties(Candidates& list, std::span<const TokenId> window, const Penalties& by) {
  if (by.repeat == 1.0f && by.frequency == 0.0f && by.presence == 0.0f) return;
  std::vector<TokenId> ids(window.begin(), window.end());
  std::sort(ids.begin(), ids.end());
  for (auto first = ids.begin(); first != ids.end();) {
    const auto last = std::upper_bound(first, ids.end(), *first);
    const auto count = static_cast<float>(last - first);
    if (Candidate* c = find_candidate(list, *first)) {
      const float repeated = within_float(c->logit > 0 ? c->logit / by.repeat : c->logit * by.repeat);
      c->logit = within_float(repeated - within_float(count * by.frequency + by.presence));
    }
    first = last;
  }
  if (list.order == Order::kByLogit) list.order = Order::kNone;
}

}  // namespace lockstep::sampling
