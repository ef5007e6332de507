#include "chat/control_texts.h"

#include <algorithm>

namespace lockstep::chat {
namespace {

std::string folded(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace

ControlTexts::ControlTexts(const tokenizer::Tokenizer& tokenizer) {
  for (size_t i = 0; i < tokenizer.n_tokens(); ++i) {
    const auto id = static_cast<tokenizer::TokenId>(i);
    if (tokenizer.is_control(id) && !tokenizer.piece(id).empty()) add(std::string(tokenizer.piece(id)));
  }
  std::sort(sizes_.begin(), sizes_.end(), std::greater<>());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
}

void ControlTexts::add(const std::string& text) {
  exact_.insert(text);
  std::string lower = folded(text);
  sizes_.push_back(lower.size());
  for (const std::string& spelling : {text, lower}) {
    first_.set(static_cast<unsigned char>(spelling.front()));
    edge_.set(static_cast<unsigned char>(spelling.front()));
    edge_.set(static_cast<unsigned char>(spelling.back()));
    for (const char c : spelling) used_.set(static_cast<unsigned char>(c));
  }
  for (unsigned char c = 'A'; c <= 'Z'; ++c) {
    const size_t lower_c = c - 'A' + 'a';
    first_[c] = first_[c] || first_[lower_c];
    edge_[c] = edge_[c] || edge_[lower_c];
    used_[c] = used_[c] || used_[lower_c];
  }
  joined_ += lower + '\n';
  folded_.insert(std::move(lower));
}

std::vector<bool> ControlTexts::cover(std::string_view text) const {
  std::vector<bool> covered(text.size());
  const std::string lower = folded(text);
  for (size_t at = 0; at < lower.size(); ++at) {
    if (!first_[static_cast<unsigned char>(lower[at])]) continue;
    for (const size_t size : sizes_) {
      if (size > lower.size() - at || !folded_.contains(std::string_view(lower).substr(at, size))) continue;
      std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(at), size, true);
      break;  // shorter ones from here are inside
    }
  }
  return covered;
}

std::vector<std::string> ControlTexts::names_in(std::string_view text, size_t most) const {
  std::vector<std::string> names;
  for (size_t at = 0; at < text.size() && names.size() < most; ++at) {
    if (!first_[static_cast<unsigned char>(text[at])]) continue;
    for (const size_t size : sizes_) {
      std::string name(text.substr(at, size));
      if (name.size() < size || !exact_.contains(name)) continue;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
      break;
    }
  }
  return names;
}

bool ControlTexts::may_become_control(std::string_view text) const {
  if (text.empty() || empty()) return false;
  const auto is_edge = [this](char c) { return edge_[static_cast<unsigned char>(c)]; };
  if (std::any_of(text.begin(), text.end(), is_edge)) return true;
  return text.size() < sizes_.front() && joined_.find(folded(text)) != joined_.npos;
}

}  // namespace lockstep::chat
