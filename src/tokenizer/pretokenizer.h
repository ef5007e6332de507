// Splits text into pre-tokens, the stretches that BPE merges each by itself. A pre-tokenizer is a list of rules; each
// cuts the pieces that the rules before it left, and what a rule's pattern does not match is a piece too. Patterns are
// regular expressions run by PCRE2 in UTF mode with Unicode properties (just-in-time compiled where PCRE2 can). Work
// and memory stay proportional to the text: passing PCRE2's limits is an error that names the pre-tokenizer, never a
// crash or a wrong split. Immutable; safe to use from several threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/pretokenizer_patterns.h"

struct pcre2_real_code_8;

namespace lockstep::tokenizer {

class Pretokenizer {
 public:
  explicit Pretokenizer(const PretokenizerSpec& spec);

  // The end offset of every pre-token of `text`, ascending; the last is text.size(). An empty text has none. A byte
  // that is not part of a well-formed character is treated like the symbol U+FFFD.
  [[nodiscard]] std::vector<size_t> split(std::string_view text) const;

  [[nodiscard]] const PretokenizerSpec& spec() const { return *spec_; }

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };
  struct Rule {
    std::unique_ptr<pcre2_real_code_8, FreeCode> code;
    SplitRule::Kind kind;
  };
  [[nodiscard]] std::vector<size_t> split_valid(std::string_view text) const;

  const PretokenizerSpec* spec_;  // an entry of the constant table, or a test's
  std::vector<Rule> rules_;
};

// A pattern as the families publish it, in PCRE2's words: \s and \S become the Unicode property White_Space, because
// PCRE2's own \s also takes U+180E, which stopped being white space in Unicode 6.3.
[[nodiscard]] std::string to_pcre2(std::string_view pattern);

}  // namespace lockstep::tokenizer
