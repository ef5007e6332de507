#include "tokenizer/pretokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/pcre2_handles.h"
#include "tokenizer/recent_characters.h"

namespace lockstep::tokenizer {
namespace {

// What a run of matches needs; one for each call of split(), so that threads share nothing. No stack is set up for
// compiled patterns: those of the table repeat single characters and keep no frame for each, so the 32 KiB that PCRE2
// has suffice.
class MatchState {
 public:
  explicit MatchState(size_t text_bytes)
      : data_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
    if (data_ == nullptr || context_ == nullptr)
      fail(ErrorCode::kNoMemory, "no memory to split {} bytes of text", text_bytes);
    // One attempt at a position tries a handful of alternatives and gives back each character at most once in each.
    const size_t steps = std::min<size_t>(10'000 + 64 * text_bytes, std::numeric_limits<uint32_t>::max());
    pcre2_set_match_limit(context_.get(), static_cast<uint32_t>(steps));
    const size_t heap_kib = std::min<size_t>(1024 + text_bytes / 8, std::numeric_limits<uint32_t>::max());
    pcre2_set_heap_limit(context_.get(), static_cast<uint32_t>(heap_kib));
  }

  // Finds the first match in `subject` (well-formed UTF-8) at or after `from`. False when there is none.
  bool next(const pcre2_code* code, std::string_view subject, size_t from, const PretokenizerSpec& spec) {
    const int result = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), from,
                                   PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result < 0) {
      fail(ErrorCode::kUnsupported, "pre-tokenizer {}: the pattern gave up after its limit on {} bytes of text ({})",
           spec.name, subject.size(), pcre2_message(result));
    }
    return true;
  }

  [[nodiscard]] size_t begin() const { return pcre2_get_ovector_pointer(data_.get())[0]; }
  [[nodiscard]] size_t end() const { return pcre2_get_ovector_pointer(data_.get())[1]; }

 private:
  Pcre2MatchData data_;
  Pcre2MatchContext context_;
};

// Cuts the characters of [begin, end) into threes counted from the right: 1234567 -> 1 234 567.
void cut_groups_of_three(std::string_view subject, size_t begin, size_t end, size_t base, std::vector<size_t>& ends) {
  size_t n = 0;
  for (size_t at = begin; at < end; at += utf8_valid_length(subject.substr(at, 4))) ++n;
  for (size_t at = begin; at < end;) {
    at += utf8_valid_length(subject.substr(at, 4));
    if (--n % 3 == 0) ends.push_back(base + at);
  }
}

// Cuts one piece: matches, and what lies between them, become pieces. Offsets in `ends` count from the whole text's
// begin.
void cut_piece(const pcre2_code* code, SplitRule::Kind kind, const PretokenizerSpec& spec, std::string_view subject,
               size_t base, MatchState& state, std::vector<size_t>& ends) {
  size_t done = 0;
  while (done < subject.size() && state.next(code, subject, done, spec)) {
    const size_t begin = state.begin();
    const size_t end = state.end();
    if (end == begin) fail(ErrorCode::kUnsupported, "pre-tokenizer {}: a pattern matches nothing at all", spec.name);
    if (begin > done) ends.push_back(base + begin);
    if (kind == SplitRule::Kind::kGroupsOfThree) {
      cut_groups_of_three(subject, begin, end, base, ends);
    } else {
      ends.push_back(base + end);
    }
    done = end;
  }
  if (done < subject.size()) ends.push_back(base + subject.size());
}

// The text with U+FFFD for every byte that is not part of a well-formed character.
std::string with_replaced_bytes(std::string_view text) {
  std::string shadow;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_valid_length(text.substr(at, 4));
    shadow += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(at, length);
    at += std::max<size_t>(length, 1);
  }
  return shadow;
}

// Moves offsets into with_replaced_bytes(text) back to offsets into `text`.
void move_back(std::string_view text, std::vector<size_t>& ends) {
  size_t at = 0;
  size_t shadow_at = 0;
  for (size_t& end : ends) {
    while (shadow_at < end) {
      const size_t length = utf8_valid_length(text.substr(at, 4));
      shadow_at += length == 0 ? 3 : length;
      at += std::max<size_t>(length, 1);
    }
    end = at;
  }
}

}  // namespace

void Pretokenizer::FreeCode::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

std::string to_pcre2(std::string_view pattern) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '\\' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 's') {
      result += "\\p{White_Space}";
    } else if (next == 'S') {
      result += "\\P{White_Space}";
    } else {
      result += pattern[i];
      if (next != '\0') result += next;
    }
    if (next != '\0') ++i;
  }
  return result;
}

Pretokenizer::Pretokenizer(const PretokenizerSpec& spec) : spec_(&spec) {
  for (const SplitRule& rule : spec.rules) {
    const std::string pattern = to_pcre2(rule.pattern);
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NO_AUTO_CAPTURE | PCRE2_DOLLAR_ENDONLY, &error, &offset, nullptr);
    if (code == nullptr) {
      fail(ErrorCode::kUnsupported, "pre-tokenizer {}: PCRE2 refuses its pattern at byte {}: {}", spec.name, offset,
           pcre2_message(error));
    }
    rules_.push_back({std::unique_ptr<pcre2_real_code_8, FreeCode>(code), rule.kind});
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it the interpreter gives the same matches
  }
}

std::vector<size_t> Pretokenizer::split(std::string_view text) const {
  if (!utf8_is_valid(text)) {
    std::vector<size_t> ends = split_valid(with_stand_ins(with_replaced_bytes(text)));
    move_back(text, ends);
    return ends;
  }
  return holds_recent_characters(text) ? split_valid(with_stand_ins(text)) : split_valid(text);
}

std::vector<size_t> Pretokenizer::split_valid(std::string_view text) const {
  if (text.empty()) return {};
  MatchState state(text.size());
  std::vector<size_t> ends = {text.size()};
  std::vector<size_t> cut;
  for (const Rule& rule : rules_) {
    cut.clear();
    size_t begin = 0;
    for (const size_t end : ends) {
      cut_piece(rule.code.get(), rule.kind, *spec_, text.substr(begin, end - begin), begin, state, cut);
      begin = end;
    }
    ends.swap(cut);
  }
  return ends;
}

}  // namespace lockstep::tokenizer
