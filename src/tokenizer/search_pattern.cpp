#include "tokenizer/search_pattern.h"

#include "base/error.h"
#include "tokenizer/pcre2_handles.h"

namespace lockstep::tokenizer {
namespace {

constexpr uint32_t kMostSteps = 100'000;  // an expression that means something needs some hundreds for a tensor's name
constexpr uint32_t kMostHeapKib = 1024;
constexpr uint32_t kMostDepth = 50;  // of nested parentheses

using CompileContext = std::unique_ptr<pcre2_compile_context, Pcre2Deleter<pcre2_compile_context_free>>;

}  // namespace

void SearchPattern::FreeCode::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

SearchPattern::SearchPattern(const std::string& pattern) : pattern_(pattern) {
  if (pattern.size() > kMostBytes) {
    fail(ErrorCode::kBadRequest, "option filter: an expression of {} bytes, expected at most {}", pattern.size(),
         kMostBytes);
  }
  const CompileContext context(pcre2_compile_context_create(nullptr));
  if (context == nullptr) fail(ErrorCode::kNoMemory, "no memory for an expression");
  pcre2_set_parens_nest_limit(context.get(), kMostDepth);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                            PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY, &error, &offset,
                            context.get()));
  if (code_ == nullptr) {
    fail(ErrorCode::kBadRequest, "option filter: \"{}\" is no regular expression, at byte {}: {}", printable(pattern),
         offset, pcre2_message(error));
  }
}

bool SearchPattern::found_in(std::string_view text) const {
  const Pcre2MatchData data(pcre2_match_data_create(1, nullptr));
  const Pcre2MatchContext context(pcre2_match_context_create(nullptr));
  if (data == nullptr || context == nullptr) fail(ErrorCode::kNoMemory, "no memory for an expression");
  pcre2_set_match_limit(context.get(), kMostSteps);
  pcre2_set_depth_limit(context.get(), kMostSteps);
  pcre2_set_heap_limit(context.get(), kMostHeapKib);
  const int result =
      pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, data.get(), context.get());
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) {
    fail(ErrorCode::kBadRequest, "option filter: \"{}\" gave up on \"{}\" after its limit: {}", printable(pattern_),
         printable(text), pcre2_message(result));
  }
  return true;
}

}  // namespace lockstep::tokenizer
