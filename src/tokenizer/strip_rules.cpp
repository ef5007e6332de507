#include "tokenizer/strip_rules.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace lockstep::tokenizer {
namespace {

std::string_view text_or_empty(const gguf::Metadata& metadata, std::string_view key) {
  const std::string* text = metadata.find_string(key);
  return text == nullptr ? std::string_view() : *text;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [text](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

void strip_before(std::string_view name, const std::vector<std::string>& texts, std::vector<Token>& tokens) {
  const auto found = std::find(texts.begin(), texts.end(), name);
  if (found != texts.end()) tokens[static_cast<size_t>(found - texts.begin())].strip_left = true;
}

void set_phi3(const std::vector<std::string>& texts, std::vector<Token>& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool added = tokens[i].is_control() || tokens[i].type == TokenType::kUserDefined;
    const bool exempt = texts[i] == "<unk>" || texts[i] == "<s>" || texts[i] == "<|endoftext|>";
    tokens[i].strip_right = (added && !exempt) || texts[i] == "</s>";
  }
}

}  // namespace

void set_strip_rules(const gguf::Metadata& metadata, const std::vector<std::string>& texts,
                     std::vector<Token>& tokens) {
  const std::string model_name = lower_case(text_or_empty(metadata, "general.name"));
  if (contains_any(text_or_empty(metadata, "tokenizer.ggml.pre"), {"jina-v2-de", "jina-v2-es", "jina-v2-code"}) ||
      contains_any(text_or_empty(metadata, "general.architecture"), {"nomic-bert-moe", "jina-bert-v3"})) {
    strip_before("<mask>", texts, tokens);
  } else if (contains_any(model_name, {"phi-3", "phi3"})) {
    set_phi3(texts, tokens);
  } else if (contains_any(model_name, {"modern-bert"})) {
    strip_before("[MASK]", texts, tokens);
  }
}

}  // namespace lockstep::tokenizer
