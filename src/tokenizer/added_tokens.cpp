#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"

namespace lockstep::tokenizer {
namespace {

// The matchers take 16 bytes for each byte of these texts. Of published vocabularies the largest, with thousands of
// reserved tokens, has less than 256 KiB of them.
constexpr size_t kMostTokenBytes = size_t{64} << 10;
constexpr size_t kMostBytesTogether = size_t{16} << 20;

// White space of the C locale: what swallowing tokens swallow.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

// The state of one split(): candidates by length, and which bytes are taken.
struct AddedTokens::Search {
  struct Candidate {  // the longest text of each kind that may stand at a place; the longer one is meant
    uint32_t begin;
    int32_t control, plain;
  };

  std::string_view text;
  std::span<const ByteRange> trusted;
  std::map<size_t, std::vector<Candidate>, std::greater<>> candidates;  // longest first
  // Of each byte, 0 while it is free, then 1 + the first byte of its stretch: an accepted token and what it swallowed.
  std::vector<uint32_t> taken;
  std::vector<Fragment> accepted;

  // Bytes from `begin` to the end of the trusted range that holds it, 0 outside of them.
  [[nodiscard]] size_t trusted_size(size_t begin) const {
    const auto after =
        std::partition_point(trusted.begin(), trusted.end(), [begin](const ByteRange& t) { return t.end <= begin; });
    return after != trusted.end() && after->begin <= begin ? after->end - begin : 0;
  }
};

AddedTokens::AddedTokens(const Vocab& vocab, const std::vector<std::string>& texts) : vocab_(vocab) {
  size_t n_bytes = 0;
  std::set<std::string_view> seen;  // of tokens with the same text the lowest id is used
  std::vector<std::string_view> controls;
  std::vector<std::string_view> plain;
  for (size_t i = 0; i < vocab.n_tokens(); ++i) {
    const Token& token = vocab.tokens()[i];
    const bool added = token.is_control() || token.type == TokenType::kUserDefined;
    if (!added || texts[i].empty() || !seen.insert(texts[i]).second) continue;
    if (texts[i].size() > kMostTokenBytes) {
      fail(ErrorCode::kUnsupported, "token {} is an added or control token of {} bytes, expected at most {}", i,
           texts[i].size(), kMostTokenBytes);
    }
    n_bytes += texts[i].size();
    if (n_bytes > kMostBytesTogether) {
      fail(ErrorCode::kUnsupported, "up to token {} the added and control tokens have {} bytes, expected at most {}", i,
           n_bytes, kMostBytesTogether);
    }
    (token.is_control() ? controls : plain).push_back(texts[i]);
    (token.is_control() ? control_ids_ : plain_ids_).push_back(static_cast<TokenId>(i));
  }
  controls_ = TextMatcher(controls);
  plain_ = TextMatcher(plain);
}

Fragment AddedTokens::fragment_of(size_t begin, int32_t control, int32_t plain) const {
  const size_t control_size = control == TextMatcher::kNone ? 0 : controls_.size_of(control);
  const size_t plain_size = plain == TextMatcher::kNone ? 0 : plain_.size_of(plain);
  if (control_size == 0 && plain_size == 0) return {};
  const TokenId id =
      control_size > plain_size ? control_ids_[static_cast<size_t>(control)] : plain_ids_[static_cast<size_t>(plain)];
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + std::max(control_size, plain_size)), id};
}

void AddedTokens::propose(Search& search, size_t begin, int32_t control, int32_t plain) const {
  const Fragment fragment = fragment_of(begin, control, plain);
  if (fragment.id >= 0) search.candidates[fragment.end - begin].push_back({fragment.begin, control, plain});
}

void AddedTokens::find_all(Search& search) const {
  TextMatcher::Walk control_walk(controls_);
  TextMatcher::Walk plain_walk(plain_);
  for (size_t at = search.text.size(); at-- > 0;) {
    int32_t control = control_walk.step(search.text[at]);
    const int32_t plain = plain_walk.step(search.text[at]);
    if (control != TextMatcher::kNone) control = controls_.prefix_of(control, search.trusted_size(at));
    propose(search, at, control, plain);
  }
}

// Accepts candidates, longest first. An accepted stretch is never shorter than the candidate at hand, so the candidate
// overlaps one exactly when its first or its last byte is taken, and only one that its last byte is in begins after it.
// What is proposed instead ends before that one: a longer one would overlap it too. So each acceptance costs no more
// new proposals than it has bytes.
void AddedTokens::settle(Search& search) const {
  while (!search.candidates.empty()) {
    auto bucket = search.candidates.extract(search.candidates.begin());
    std::vector<Search::Candidate>& matches = bucket.mapped();
    const auto id_of = [this](const Search::Candidate& c) { return fragment_of(c.begin, c.control, c.plain).id; };
    std::sort(matches.begin(), matches.end(), [&](const Search::Candidate& a, const Search::Candidate& b) {
      return id_of(a) != id_of(b) ? id_of(a) < id_of(b) : a.begin < b.begin;
    });
    for (const auto& [begin, control, plain] : matches) {
      if (search.taken[begin] != 0) continue;
      const uint32_t stretch = search.taken[begin + bucket.key() - 1];
      if (stretch == 0) {
        accept(search, fragment_of(begin, control, plain));
        continue;
      }
      const size_t room = stretch - 1 - begin;
      propose(search, begin, controls_.prefix_of(control, room), plain_.prefix_of(plain, room));
    }
  }
}

void AddedTokens::accept(Search& search, const Fragment& match) const {
  ByteRange whole = {match.begin, match.end};
  const auto swallows = [&search](size_t at) { return search.taken[at] == 0 && is_space(search.text[at]); };
  const Token& token = vocab_.token(match.id);
  while (token.strip_left && whole.begin > 0 && swallows(whole.begin - 1)) --whole.begin;
  while (token.strip_right && whole.end < search.text.size() && swallows(whole.end)) ++whole.end;
  const auto first = search.taken.begin();
  std::fill(first + static_cast<std::ptrdiff_t>(whole.begin), first + static_cast<std::ptrdiff_t>(whole.end),
            static_cast<uint32_t>(whole.begin + 1));
  search.accepted.push_back(match);
}

std::vector<Fragment> AddedTokens::split(std::string_view text, std::span<const ByteRange> trusted) const {
  if (text.size() >= std::numeric_limits<uint32_t>::max())
    fail(ErrorCode::kBadRequest, "a text of {} bytes is too long to encode, expected less than 4 GiB", text.size());
  const auto size = static_cast<uint32_t>(text.size());
  Search search{text, trusted, {}, std::vector<uint32_t>(size), {}};
  find_all(search);
  settle(search);
  std::sort(search.accepted.begin(), search.accepted.end(),
            [](const Fragment& a, const Fragment& b) { return a.begin < b.begin; });
  std::vector<Fragment> fragments;
  fragments.reserve(2 * search.accepted.size() + 1);  // growing would hold them twice
  uint32_t done = 0;
  for (const Fragment& token : search.accepted) {
    const uint32_t stretch = search.taken[token.begin];
    if (stretch - 1 > done) fragments.push_back({done, stretch - 1, -1});
    fragments.push_back(token);
    for (done = token.end; done < size && search.taken[done] == stretch;) ++done;
  }
  if (done < size) fragments.push_back({done, size, -1});
  return fragments;
}

}  // namespace lockstep::tokenizer
