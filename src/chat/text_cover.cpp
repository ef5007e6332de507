#include "chat/text_cover.h"

#include <algorithm>

namespace lockstep::chat {

std::vector<bool> covered_by(const TextMatcher& matcher, std::string_view text) {
  struct Stretch {
    size_t begin, end;
  };
  std::vector<Stretch> stretches;  // the rightmost first; no two of them touch
  TextMatcher::Walk walk(matcher);
  for (size_t at = text.size(); at-- > 0;) {
    const int32_t index = walk.step(text[at]);
    if (index == TextMatcher::kNone) continue;
    size_t end = at + matcher.size_of(index);
    for (; !stretches.empty() && stretches.back().begin <= end; stretches.pop_back())
      end = std::max(end, stretches.back().end);
    stretches.push_back({at, end});
  }
  std::vector<bool> covered(text.size());
  for (const Stretch& stretch : stretches) {
    std::fill(covered.begin() + static_cast<std::ptrdiff_t>(stretch.begin),
              covered.begin() + static_cast<std::ptrdiff_t>(stretch.end), true);
  }
  return covered;
}

}  // namespace lockstep::chat
