#include "chat/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace lockstep::chat {

void StopMatcher::Pattern::advance(char byte) {
  while (n_matched > 0 && (n_matched == text.size() || text[n_matched] != byte)) n_matched = fallback[n_matched - 1];
  if (text[n_matched] == byte) ++n_matched;
}

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) continue;
    if (!utf8_is_valid(stop)) fail(ErrorCode::kBadRequest, "option stop: \"{}\" is not UTF-8", printable(stop));
    Pattern pattern = {stop, {0}};
    for (size_t i = 1; i < stop.size(); ++i) {
      pattern.advance(stop[i]);
      pattern.fallback.push_back(pattern.n_matched);
    }
    pattern.n_matched = 0;
    patterns_.push_back(std::move(pattern));
  }
}

size_t StopMatcher::longest_complete() const {
  size_t longest = 0;
  for (const Pattern& pattern : patterns_) {
    if (pattern.n_matched == pattern.text.size()) longest = std::max(longest, pattern.n_matched);
  }
  return longest;
}

size_t StopMatcher::longest_begun() const {
  size_t longest = 0;
  for (const Pattern& pattern : patterns_) longest = std::max(longest, pattern.n_matched);
  return longest;
}

std::string StopMatcher::push(std::string_view text) {
  for (const char byte : text) {
    if (matched_) break;
    held_ += byte;
    for (Pattern& pattern : patterns_) pattern.advance(byte);
    if (const size_t found = longest_complete(); found > 0) {
      held_.resize(held_.size() - found);
      matched_ = true;
    }
  }
  const size_t n_certain = matched_ ? held_.size() : held_.size() - longest_begun();
  std::string certain = held_.substr(0, n_certain);
  held_.erase(0, n_certain);
  return certain;
}

std::string StopMatcher::flush() {
  return std::exchange(held_, {});
}

}  // namespace lockstep::chat
