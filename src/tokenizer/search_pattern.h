// A regular expression from a user, to be looked for in short texts. PCRE2 runs it with limits on size, work and
// memory: a hostile one is an error, never a hang. Immutable; safe to use from several threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace lockstep::tokenizer {

class SearchPattern {
 public:
  static constexpr size_t kMostBytes = 4096;

  // Error kBadRequest, "option filter: ...", for what is no expression.
  explicit SearchPattern(const std::string& pattern);

  // Error kBadRequest when the expression gives up after its limit.
  [[nodiscard]] bool found_in(std::string_view text) const;

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::string pattern_;
  std::unique_ptr<pcre2_real_code_8, FreeCode> code_;
};

}  // namespace lockstep::tokenizer
