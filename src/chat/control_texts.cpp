#include "chat/control_texts.h"

#include <algorithm>

#include "chat/text_cover.h"

namespace lockstep::chat {
namespace {

// How much is searched for together: the bytes of the texts, and what a text costs beside them.
constexpr size_t kBytesTogether = size_t{1} << 22;
constexpr size_t kBytesPerText = 8;

std::string folded(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

struct Found {
  size_t at;
  int32_t index;
};

// The longest text at every place where one begins, in order.
std::vector<Found> matches(const TextMatcher& matcher, std::string_view text) {
  std::vector<Found> found;
  TextMatcher::Walk walk(matcher);
  for (size_t at = text.size(); at-- > 0;) {
    const int32_t index = walk.step(text[at]);
    if (index != TextMatcher::kNone) found.push_back({at, index});
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace

ControlTexts::ControlTexts(const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::string_view> exact;
  std::vector<std::string> folded_texts;
  for (size_t i = 0; i < tokenizer.n_tokens(); ++i) {
    const auto id = static_cast<tokenizer::TokenId>(i);
    if (!tokenizer.is_control(id) || tokenizer.piece(id).empty()) continue;
    exact.push_back(tokenizer.piece(id));
    folded_texts.push_back(folded(exact.back()));
    note_bytes(exact.back(), folded_texts.back());
  }
  exact_ = TextMatcher(exact);
  folded_ = TextMatcher(std::vector<std::string_view>(folded_texts.begin(), folded_texts.end()));
}

void ControlTexts::note_bytes(std::string_view text, std::string_view lower) {
  longest_ = std::max(longest_, lower.size());
  for (const std::string_view spelling : {text, lower}) {
    edge_.set(static_cast<unsigned char>(spelling.front()));
    edge_.set(static_cast<unsigned char>(spelling.back()));
    for (const char c : spelling) used_.set(static_cast<unsigned char>(c));
  }
  for (unsigned char c = 'A'; c <= 'Z'; ++c) {
    const size_t lower_c = c - 'A' + 'a';
    edge_[c] = edge_[c] || edge_[lower_c];
    used_[c] = used_[c] || used_[lower_c];
  }
  joined_.append(lower).push_back('\n');
}

std::vector<bool> ControlTexts::cover(std::string_view text) const {
  return covered_by(folded_, folded(text));
}

std::vector<std::string> ControlTexts::names_in(std::string_view text, size_t most) const {
  std::vector<std::string> names;
  if (most == 0) return names;
  for (const Found& match : matches(exact_, text)) {
    const std::string_view name = text.substr(match.at, exact_.size_of(match.index));
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.emplace_back(name);
    if (names.size() == most) break;
  }
  return names;
}

bool ControlTexts::may_become_control(std::span<const std::string_view> texts) const {
  if (empty()) return false;
  const auto is_edge = [this](char c) { return edge_[static_cast<unsigned char>(c)]; };
  const auto has_edge = [&](std::string_view text) { return std::any_of(text.begin(), text.end(), is_edge); };
  if (std::any_of(texts.begin(), texts.end(), has_edge)) return true;
  std::set<std::string> together;
  size_t n_bytes = 0;
  for (const std::string_view text : texts) {
    if (text.empty() || text.size() >= longest_ || !together.insert(folded(text)).second) continue;
    n_bytes += text.size() + kBytesPerText;
    if (n_bytes < kBytesTogether) continue;
    if (is_inside(together)) return true;
    together.clear();
    n_bytes = 0;
  }
  return is_inside(together);
}

// Searches for all at once, and never by std::string::find: the product of both sizes is minutes.
bool ControlTexts::is_inside(const std::set<std::string>& lower_texts) const {
  if (lower_texts.empty()) return false;
  const TextMatcher matcher(std::vector<std::string_view>(lower_texts.begin(), lower_texts.end()));
  TextMatcher::Walk walk(matcher);
  return std::any_of(joined_.rbegin(), joined_.rend(),
                     [&walk](char byte) { return walk.step(byte) != TextMatcher::kNone; });
}

}  // namespace lockstep::chat
