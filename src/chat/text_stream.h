// The tokens of an answer as the text that people see: whole characters, nothing of a control token, ending before the
// first stop. The one way from ids to an answer's text, streamed or not. One stream serves one answer and is used by
// one thread at a time; the tokenizer must outlive it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chat/stop_matcher.h"
#include "tokenizer/stream_decoder.h"

namespace lockstep::chat {

class TextStream {
 public:
  // Errors: those of StopMatcher.
  TextStream(const tokenizer::Tokenizer& tokenizer, const std::vector<std::string>& stops)
      : tokenizer_(tokenizer), decoder_(tokenizer, {.continues = true}), matcher_(stops) {}

  // The text that `id` makes certain; may be empty.
  [[nodiscard]] std::string push(tokenizer::TokenId id);

  // The rest, once the last token was pushed. A character that never ended is given out as its bytes.
  [[nodiscard]] std::string flush();

  // True once a stop was found: no more tokens are needed.
  [[nodiscard]] bool stopped() const noexcept { return matcher_.matched(); }

 private:
  const tokenizer::Tokenizer& tokenizer_;
  tokenizer::StreamDecoder decoder_;
  StopMatcher matcher_;
};

// The text of a whole answer.
[[nodiscard]] std::string answer_text(const tokenizer::Tokenizer& tokenizer, std::span<const tokenizer::TokenId> ids,
                                      const std::vector<std::string>& stops);

}  // namespace lockstep::chat
