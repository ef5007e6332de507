// The texts of a vocabulary's control tokens, to be searched for in what people write. Letters of either case count as
// the same: a template may change the case. Immutable; safe from several threads.
#pragma once

#include <bitset>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_matcher.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::chat {

class ControlTexts {
 public:
  explicit ControlTexts(const tokenizer::Tokenizer& tokenizer);

  // Where control texts stand in `text`: one flag a byte.
  [[nodiscard]] std::vector<bool> cover(std::string_view text) const;

  // The control texts in `text`, spelled exactly; the first `most` of them.
  [[nodiscard]] std::vector<std::string> names_in(std::string_view text, size_t most) const;

  // True when a template could complete one of `texts` to a control text: it has a character that one begins or ends
  // with, or is the inside of one. Linear in the texts, and in the control texts for every few MiB of them.
  [[nodiscard]] bool may_become_control(std::span<const std::string_view> texts) const;

  // True for a byte of some control text.
  [[nodiscard]] bool uses(unsigned char byte) const { return used_[byte]; }

  [[nodiscard]] bool empty() const { return longest_ == 0; }

 private:
  void note_bytes(std::string_view text, std::string_view lower);
  [[nodiscard]] bool is_inside(const std::set<std::string>& lower_texts) const;

  TextMatcher exact_;
  TextMatcher folded_;  // in lower case
  size_t longest_ = 0;  // bytes of the longest of them
  std::bitset<256> edge_, used_;
  std::string joined_;  // all of them in lower case, each on a line of its own
};

}  // namespace lockstep::chat
