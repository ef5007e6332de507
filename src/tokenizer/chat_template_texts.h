// The chat templates that a GGUF file carries beside its vocabulary. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "gguf/metadata.h"

namespace lockstep::tokenizer {

struct ChatTemplateText {
  std::string name;  // "default" for tokenizer.chat_template, NAME for tokenizer.chat_template.NAME
  std::string source;
};

// In file order. Error kBadFile for a template that is not a text.
[[nodiscard]] std::vector<ChatTemplateText> read_chat_templates(const gguf::Metadata& metadata);

}  // namespace lockstep::tokenizer
