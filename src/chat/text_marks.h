// Marks what people wrote so that it can be told from the template's text after rendering: a character of theirs that
// could be part of a control token is replaced by a private-use character that is used nowhere else, one for one. What
// comes out of the template in place of a mark is theirs, whatever filters it went through.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "chat/control_texts.h"
#include "chat/message.h"
#include "chat/template_words.h"

namespace lockstep::chat {

// How much is marked. What marks more is safer against a template that builds texts from parts, but can send the
// template another way.
enum class MarkLevel {
  kCharacters,   // every character that control texts use, where the template does not look for it
  kPunctuation,  // the same without letters and digits
  kNames,        // whole names of control tokens
};

// A text and, for each of its bytes, whether the template wrote it.
struct TrustedText {
  std::string text;
  std::vector<bool> trusted;
};

class TextMarks {
 public:
  // Characters that stand in `used` (the template and all variables) are never marks. All must outlive this.
  TextMarks(const ControlTexts& controls, const TemplateWords& words, std::string_view used);

  // `conversation` with its texts and keys marked at this level.
  [[nodiscard]] Json marked(const Json& conversation, MarkLevel level);

  // `rendered` with the marks taken back. `plain` is what the template made of the unmarked conversation: if the two
  // differ in marks only, the text is exactly that (a filter that changes letters does nothing to a mark), else
  // `same` is false.
  [[nodiscard]] TrustedText restored(std::string_view rendered, std::string_view plain, bool& same) const;

 private:
  [[nodiscard]] Json marked_value(const Json& value, MarkLevel level);
  [[nodiscard]] Json marked_message(const Json& message, MarkLevel level);
  [[nodiscard]] std::string marked_text(std::string_view text, MarkLevel level);
  [[nodiscard]] uint32_t mark_of(uint32_t character);

  const ControlTexts& controls_;
  const TemplateWords& words_;
  std::unordered_set<uint32_t> used_marks_;  // private-use characters that are taken
  uint32_t next_mark_;
  std::map<uint32_t, uint32_t> mark_by_character_, character_by_mark_;
};

}  // namespace lockstep::chat
