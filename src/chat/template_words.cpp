#include "chat/template_words.h"

#include <algorithm>

#include "chat/text_cover.h"

namespace lockstep::chat {
namespace {

constexpr size_t kLongestLiteral = 64;  // longer ones are texts to print
constexpr size_t kMostLiterals = 500;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The literal whose opening quote is at `at`, which moves to its closing quote.
std::string read_literal(std::string_view source, size_t& at) {
  std::string literal;
  const char quote = source[at];
  for (++at; at < source.size() && source[at] != quote; ++at) {
    char c = source[at];
    if (c == '\\' && at + 1 < source.size()) {
      c = source[++at];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    literal += c;
  }
  return literal;
}

}  // namespace

TemplateWords::TemplateWords(std::string_view source) {
  size_t at = 0;
  while ((at = source.find('{', at)) != source.npos) {
    const std::string_view opening = source.substr(at, 2);
    at += opening.size();
    if (opening == "{#") {
      at = std::min(source.find("#}", at), source.size());
    } else if (opening == "{{" || opening == "{%") {
      read_tag(source, at);
    }
  }
  matcher_ = TextMatcher(std::vector<std::string_view>(literals_.begin(), literals_.end()));
}

void TemplateWords::read_tag(std::string_view source, size_t& at) {
  for (; at < source.size(); ++at) {
    const std::string_view next = source.substr(at, 2);
    if (next == "}}" || next == "%}") return;
    if (is_word(source[at])) {
      const size_t begin = at;
      while (at + 1 < source.size() && is_word(source[at + 1])) ++at;
      words_.insert(std::string(source.substr(begin, at + 1 - begin)));
    } else if (source[at] == '\'' || source[at] == '"') {
      add_literal(read_literal(source, at));
    }
  }
}

void TemplateWords::add_literal(std::string literal) {
  if (literal.size() > kLongestLiteral) return;
  if (literal.size() > 1 && literals_.size() < kMostLiterals) literals_.push_back(literal);
  words_.insert(std::move(literal));
}

std::vector<bool> TemplateWords::cover(std::string_view text) const {
  return covered_by(matcher_, text);
}

}  // namespace lockstep::chat
