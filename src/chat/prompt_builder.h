// From a conversation to the token ids that a model reads: the chat template is rendered, and special tokens are parsed
// in what the template wrote, never in what people or tools wrote, whatever the template does to their texts.
// Immutable; safe from several threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/adapt_messages.h"
#include "chat/chat_template.h"
#include "chat/control_texts.h"
#include "chat/message.h"
#include "chat/template_words.h"
#include "chat/text_marks.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::chat {

struct Prompt {
  std::string text;
  std::vector<tokenizer::TokenId> ids;  // with the begin-of-text token where the file asks for one, once
  std::vector<std::string> warnings;    // of a doubled BOS, texts left out, texts that look like control tokens
};

// The template of the file that is called `name`; without a name tool_use when there are tools, else default.
// Error kNotFound, naming the file `origin` where given and the ways out, when there is none.
[[nodiscard]] ChatTemplate template_of_file(const tokenizer::Tokenizer& tokenizer, std::string_view name,
                                            bool with_tools, std::string_view origin = {});

// bos_token, eos_token, unk_token and pad_token, as far as the file has them.
[[nodiscard]] Json special_token_variables(const tokenizer::Tokenizer& tokenizer);

class PromptBuilder {
 public:
  // `tokenizer` must outlive this. `variables` are the caller's own for the template, trusted as the template is.
  PromptBuilder(const tokenizer::Tokenizer& tokenizer, ChatTemplate chat_template, Json variables = Json::object());

  // `conversation` is checked (check_conversation). `now` as for ChatTemplate::render, `memory` as for
  // Tokenizer::encode.
  // Errors: kBadRequest for a conversation of the wrong form, kTemplate as ChatTemplate::render.
  [[nodiscard]] Prompt build(const Json& conversation, std::string_view now, tokenizer::FragmentMemory& memory) const;
  [[nodiscard]] Prompt build(const Json& conversation, std::string_view now) const;

 private:
  [[nodiscard]] Json with_variables(const Json& conversation) const;
  [[nodiscard]] TrustedText trusted_text(const Rendering& plain, std::string_view now) const;
  void add_bos(Prompt& prompt) const;

  const tokenizer::Tokenizer& tokenizer_;
  ChatTemplate template_;
  Json variables_;
  ControlTexts controls_;
  TemplateWords words_;
};

}  // namespace lockstep::chat
