// Where texts that are searched for together stand in another one. Functions only; safe from several threads.
#pragma once

#include <string_view>
#include <vector>

#include "base/text_matcher.h"

namespace lockstep::chat {

// One flag a byte of `text`: whether a text of `matcher` stands there. Linear, however many of them overlap.
[[nodiscard]] std::vector<bool> covered_by(const TextMatcher& matcher, std::string_view text);

}  // namespace lockstep::chat
