#include "sampling/penalties.h"

#include <algorithm>
#include <span>
#include <vector>

#include "sampling/adjust.h"

namespace lockstep::sampling {
namespace {

// Every token of the window once, in `counted`.
std::span<const Counted> occurrences(std::span<const TokenId> window, std::vector<Counted>& counted) {
  counted.clear();
  for (const TokenId id : window) counted.push_back({id, 1});
  std::ranges::sort(counted, {}, &Counted::id);
  size_t n_tokens = 0;
  for (const Counted& one : counted) {
    if (n_tokens > 0 && counted[n_tokens - 1].id == one.id) {
      ++counted[n_tokens - 1].count;
    } else {
      counted[n_tokens++] = one;
    }
  }
  counted.resize(n_tokens);
  return counted;
}

}  // namespace

std::span<const TokenId> last_tokens(std::span<const TokenId> history, int32_t n) {
  if (n < 0 || static_cast<size_t>(n) >= history.size()) return history;
  return history.last(static_cast<size_t>(n));
}

void penalties(Candidates& list, std::span<const TokenId> window, const Penalties& by) {
  if (by.repeat == 1.0f && by.frequency == 0.0f && by.presence == 0.0f) return;
  for (const Counted& token : occurrences(window, list.scratch.counted)) {
    float* logit = find_logit(list, token.id);
    if (logit == nullptr) continue;
    const float repeated = within_float(*logit > 0 ? *logit / by.repeat : *logit * by.repeat);
    *logit = within_float(repeated - within_float(static_cast<float>(token.count) * by.frequency + by.presence));
  }
}

}  // namespace lockstep::sampling
