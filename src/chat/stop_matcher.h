// Texts that end an answer, found while it is written. What could be the beginning of one is held back until it is
// known to be none. One matcher serves one answer and is used by one thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::chat {

class StopMatcher {
 public:
  // Empty stops are ignored. Error kBadRequest for one that is not UTF-8: it could end in the middle of a character.
  explicit StopMatcher(const std::vector<std::string>& stops);

  // The text that is certain to come before a stop; may be empty. The stop that ends first wins, of several that end
  // together the longest: so where `text` was cut does not matter. Whole characters in, whole characters out.
  [[nodiscard]] std::string push(std::string_view text);

  // What was held back, once no more text comes.
  [[nodiscard]] std::string flush();

  // True once a stop was found; all text from there on is dropped.
  [[nodiscard]] bool matched() const noexcept { return matched_; }

 private:
  // One stop and how much of it the text ends with (Knuth, Morris and Pratt 1977).
  struct Pattern {
    std::string text;
    std::vector<size_t> fallback;  // [i]: the longest proper beginning of text[0..i] that it also ends with
    size_t n_matched = 0;

    void advance(char byte);
  };

  [[nodiscard]] size_t longest_complete() const;
  [[nodiscard]] size_t longest_begun() const;

  std::vector<Pattern> patterns_;
  std::string held_;
  bool matched_ = false;
};

}  // namespace lockstep::chat
