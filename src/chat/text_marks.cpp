#include "chat/text_marks.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utf8.h"
#include "chat/json_fields.h"

namespace lockstep::chat {
namespace {

constexpr uint32_t kFirstMark = 0xE000;  // the private use area
constexpr uint32_t kLastMark = 0xF8FF;
constexpr size_t kEscapeSize = 6;  // \uE000

// Templates compose control tokens from these: '<|' ~ message.role ~ '|>'.
constexpr auto kRoles = std::to_array<std::string_view>(
    {"system", "user", "assistant", "tool", "developer", "function", "ipython", "model", "observation"});

bool is_letter_or_digit(uint32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Templates cut, split and escape at these, so they stay.
bool stays(uint32_t c) {
  return c <= ' ' || c == '"' || c == '\\' || c == 0x7f;
}

// One character of well-formed UTF-8, or one byte.
struct Character {
  uint32_t code;
  size_t size;
};

Character character_at(std::string_view text, size_t at) {
  const size_t size = utf8_valid_length(text.substr(at));
  if (size == 0) return {static_cast<unsigned char>(text[at]), 1};
  return {utf8_decode(text.substr(at), size), size};
}

// The character that "\uXXXX" at `at` stands for, 0 if there is no such thing.
uint32_t escaped_at(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\\u" || at + kEscapeSize > text.size()) return 0;
  uint32_t code = 0;
  for (size_t i = at + 2; i < at + kEscapeSize; ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      code = code * 16 + static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      code = code * 16 + static_cast<uint32_t>(c - 'a' + 10);
    } else {
      return 0;
    }
  }
  return code;
}

}  // namespace

TextMarks::TextMarks(const ControlTexts& controls, const TemplateWords& words, std::string_view used)
    : controls_(controls), words_(words), next_mark_(kFirstMark) {
  for (size_t at = 0; at < used.size();) {
    const Character c = character_at(used, at);
    if (c.code >= kFirstMark && c.code <= kLastMark) used_marks_.insert(c.code);
    if (const uint32_t escaped = escaped_at(used, at); escaped != 0) used_marks_.insert(escaped);
    at += c.size;
  }
}

uint32_t TextMarks::mark_of(uint32_t character) {
  const auto known = mark_by_character_.find(character);
  if (known != mark_by_character_.end()) return known->second;
  while (used_marks_.contains(next_mark_)) ++next_mark_;
  if (next_mark_ > kLastMark)
    fail(ErrorCode::kBadRequest, "the conversation uses too many private-use characters to be kept apart");
  const uint32_t mark = next_mark_++;
  mark_by_character_[character] = mark;
  character_by_mark_[mark] = character;
  return mark;
}

std::string TextMarks::marked_text(std::string_view text, MarkLevel level) {
  const std::vector<bool> names = controls_.cover(text);
  const bool whole_word = level == MarkLevel::kNames || words_.contains(text);
  const std::vector<bool> looked_for = whole_word ? std::vector<bool>(text.size(), true) : words_.cover(text);
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    const bool by_itself = controls_.uses(static_cast<unsigned char>(text[at])) && !looked_for[at] &&
                           (level == MarkLevel::kCharacters || !is_letter_or_digit(c.code));
    const bool well_formed = c.code < 0x80 || c.size > 1;
    if ((names[at] || by_itself) && !stays(c.code) && well_formed) {
      utf8_append(result, mark_of(c.code));
    } else {
      result += text.substr(at, c.size);
    }
    at += c.size;
  }
  return result;
}

Json TextMarks::marked_value(const Json& value, MarkLevel level) {
  if (value.is_string()) return marked_text(value.get_ref<const std::string&>(), level);
  if (value.is_array()) {
    Json result = Json::array();
    for (const Json& item : value) result.push_back(marked_value(item, level));
    return result;
  }
  if (!value.is_object()) return value;
  JsonFields result;
  for (const auto& field : value.items())
    result.add(marked_text(field.key(), level), marked_value(field.value(), level));
  return result.take();
}

Json TextMarks::marked_message(const Json& message, MarkLevel level) {
  Json result = marked_value(message, level);
  const std::string& role = message["role"].get_ref<const std::string&>();
  if (std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end()) result["role"] = role;
  return result;
}

Json TextMarks::marked(const Json& conversation, MarkLevel level) {
  JsonFields result;
  for (const auto& field : conversation.items()) {
    if (field.key() != "messages") {
      result.add(field.key(), marked_value(field.value(), level));
      continue;
    }
    Json messages = Json::array();
    for (const Json& message : field.value()) messages.push_back(marked_message(message, level));
    result.add(field.key(), std::move(messages));
  }
  return result.take();
}

TrustedText TextMarks::restored(std::string_view rendered, std::string_view plain, bool& same) const {
  TrustedText own;      // with the characters that were marked
  TrustedText aligned;  // with those that stand in their places in `plain`
  same = true;
  size_t plain_at = 0;
  for (size_t at = 0; at < rendered.size();) {
    Character c = character_at(rendered, at);
    // json.dumps with ensure_ascii writes a mark as an escape.
    const uint32_t escaped = escaped_at(rendered, at);
    if (character_by_mark_.contains(escaped)) c = {escaped, kEscapeSize};
    const auto mark = character_by_mark_.find(c.code);
    const bool trusted = mark == character_by_mark_.end();
    const size_t own_at = own.text.size();
    if (trusted) {
      own.text += rendered.substr(at, c.size);
    } else {
      utf8_append(own.text, mark->second);
    }
    own.trusted.resize(own.text.size(), trusted);
    const size_t plain_size = plain_at < plain.size() ? character_at(plain, plain_at).size : 0;
    const std::string_view theirs = plain.substr(plain_at, plain_size);
    same = same && plain_size > 0 && (!trusted || theirs == std::string_view(own.text).substr(own_at));
    aligned.text += theirs;
    aligned.trusted.resize(aligned.text.size(), trusted);
    plain_at += plain_size;
    at += c.size;
  }
  same = same && plain_at == plain.size();
  return same ? aligned : own;
}

}  // namespace lockstep::chat
