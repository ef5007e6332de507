// What a template's source compares and searches for: its text literals and the words in it. A message in which these
// stay readable makes the template take the same ways. Immutable; safe from several threads.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/keyed_hash.h"
#include "base/text_matcher.h"

namespace lockstep::chat {

class TemplateWords {
 public:
  explicit TemplateWords(std::string_view source);

  // True when the whole text is a literal or a word of the template: a role, a type, a key that it asks for.
  [[nodiscard]] bool contains(std::string_view text) const { return words_.contains(text); }

  // Where literals of more than one byte stand in `text`: one flag a byte.
  [[nodiscard]] std::vector<bool> cover(std::string_view text) const;

 private:
  void read_tag(std::string_view source, size_t& at);
  void add_literal(std::string literal);

  std::unordered_set<std::string, TextHash, std::equal_to<>> words_;
  std::vector<std::string> literals_;
  TextMatcher matcher_;  // of the literals
};

}  // namespace lockstep::chat
