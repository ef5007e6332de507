#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace lockstep::tokenizer {
namespace {

// White space of the C locale: what swallowing tokens swallow.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

// The state of one split(): candidates by length, and which bytes are taken.
struct AddedTokens::Search {
  struct Accepted {
    Fragment token;
    ByteRange with_swallowed;
  };

  std::string_view text;
  std::span<const ByteRange> trusted;
  std::map<size_t, std::vector<Fragment>, std::greater<>> candidates;  // longest first
  std::vector<char> taken;                                             // by an accepted token, or swallowed by one
  std::vector<Accepted> accepted;

  void add(const Fragment& match) { candidates[match.range.end - match.range.begin].push_back(match); }

  [[nodiscard]] bool trusts(ByteRange range) const {
    const auto after = std::partition_point(trusted.begin(), trusted.end(),
                                            [&range](const ByteRange& t) { return t.end <= range.begin; });
    return after != trusted.end() && after->begin <= range.begin && range.end <= after->end;
  }
};

AddedTokens::AddedTokens(const Vocab& vocab, const std::vector<std::string>& texts) : vocab_(vocab) {
  roots_.fill(-1);
  for (size_t i = 0; i < vocab.n_tokens(); ++i) {
    const Token& token = vocab.tokens()[i];
    const bool added = token.is_control() || token.type == TokenType::kUserDefined;
    if (added && !texts[i].empty()) insert(texts[i], static_cast<TokenId>(i));
  }
}

int32_t AddedTokens::child_of(int32_t node, unsigned char byte) const {
  if (node < 0) return roots_[byte];
  int32_t child = nodes_[static_cast<size_t>(node)].child;
  while (child >= 0 && nodes_[static_cast<size_t>(child)].byte != byte)
    child = nodes_[static_cast<size_t>(child)].sibling;
  return child;
}

void AddedTokens::insert(std::string_view text, TokenId id) {
  int32_t node = -1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    int32_t next = child_of(node, byte);
    if (next < 0) {
      next = static_cast<int32_t>(nodes_.size());
      nodes_.push_back({byte, -1, -1, -1});
      int32_t& first = node < 0 ? roots_[byte] : nodes_[static_cast<size_t>(node)].child;
      nodes_.back().sibling = node < 0 ? -1 : first;
      first = next;
    }
    node = next;
  }
  TokenId& end = nodes_[static_cast<size_t>(node)].id;
  if (end < 0) end = id;  // of tokens with the same text the lowest id is used
}

// The longest token of at most `max_size` bytes that stands at `at`.
std::optional<Fragment> AddedTokens::longest_at(const Search& search, size_t at, size_t max_size) const {
  const size_t limit = std::min(search.text.size() - at, max_size);
  std::optional<Fragment> longest;
  int32_t node = -1;
  for (size_t size = 1; size <= limit; ++size) {
    node = child_of(node, static_cast<unsigned char>(search.text[at + size - 1]));
    if (node < 0) break;
    const TokenId id = nodes_[static_cast<size_t>(node)].id;
    if (id >= 0 && (!vocab_.token(id).is_control() || search.trusts({at, at + size}))) longest = {{at, at + size}, id};
  }
  return longest;
}

void AddedTokens::find_all(Search& search) const {
  for (size_t at = 0; at < search.text.size(); ++at) {
    if (roots_[static_cast<unsigned char>(search.text[at])] < 0) continue;
    if (const auto match = longest_at(search, at, search.text.size())) search.add(*match);
  }
}

// Accepts candidates, longest first. An accepted stretch is never shorter than the candidate at hand, so the candidate
// overlaps one exactly when its first or its last byte is taken.
void AddedTokens::settle(Search& search) const {
  while (!search.candidates.empty()) {
    auto bucket = search.candidates.extract(search.candidates.begin());
    std::vector<Fragment>& matches = bucket.mapped();
    std::sort(matches.begin(), matches.end(), [](const Fragment& a, const Fragment& b) {
      return a.id != b.id ? a.id < b.id : a.range.begin < b.range.begin;
    });
    for (const Fragment& match : matches) {
      if (search.taken[match.range.begin] != 0) continue;
      if (search.taken[match.range.end - 1] == 0) {
        accept(search, match);
      } else if (const auto shorter = longest_at(search, match.range.begin, bucket.key() - 1)) {
        search.add(*shorter);
      }
    }
  }
}

void AddedTokens::accept(Search& search, const Fragment& match) const {
  ByteRange whole = match.range;
  const auto swallows = [&search](size_t at) { return search.taken[at] == 0 && is_space(search.text[at]); };
  const Token& token = vocab_.token(match.id);
  while (token.strip_left && whole.begin > 0 && swallows(whole.begin - 1)) --whole.begin;
  while (token.strip_right && whole.end < search.text.size() && swallows(whole.end)) ++whole.end;
  for (size_t at = whole.begin; at < whole.end; ++at) search.taken[at] = 1;
  search.accepted.push_back({match, whole});
}

std::vector<Fragment> AddedTokens::split(std::string_view text, std::span<const ByteRange> trusted) const {
  Search search{text, trusted, {}, std::vector<char>(text.size()), {}};
  find_all(search);
  settle(search);
  std::sort(search.accepted.begin(), search.accepted.end(), [](const Search::Accepted& a, const Search::Accepted& b) {
    return a.token.range.begin < b.token.range.begin;
  });
  std::vector<Fragment> fragments;
  size_t done = 0;
  for (const Search::Accepted& accepted : search.accepted) {
    if (accepted.with_swallowed.begin > done) fragments.push_back({{done, accepted.with_swallowed.begin}, -1});
    fragments.push_back(accepted.token);
    done = accepted.with_swallowed.end;
  }
  if (done < text.size()) fragments.push_back({{done, text.size()}, -1});
  return fragments;
}

}  // namespace lockstep::tokenizer
