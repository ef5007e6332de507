// The end of the forward pass: final norm, logits, and a first look at them while they are in the cache of whoever made
// them.
#pragma once

#include <cstdint>
#include <span>

#include "exec/team.h"
#include "model/step.h"

namespace lockstep::model {

// work.logits of the rows that want them, and the shortlists of work.head_shares. This member's share; the caller's
// program ends or meets after it.
void head(const Step& step, exec::Member& me) noexcept;

// Appends to `out` the best tokens of wanted row `row`: every token among the kShortlist best is there, with others, in
// no order. False (and nothing appended) when there is no such list: a small vocabulary, or very many equal logits.
template <typename Candidates>
bool append_shortlist(const Workspace& work, int64_t row, Candidates& out) {
  const std::span<const HeadShare> shares = work.shares_of_row(row);
  for (const HeadShare& share : shares) {
    if (!share.complete) return false;
  }
  for (const HeadShare& share : shares) {
    for (int32_t i = 0; i < share.n; ++i) out.push_back({share.ids[i], share.logits[i]});
  }
  return true;
}

}  // namespace lockstep::model
