// Looks at an answer while it is written: shows its text, and ends it at a stop or when the user interrupts.
#pragma once

#include <functional>
#include <string_view>

#include "chat/text_stream.h"
#include "engine/generate.h"

namespace lockstep {

class AnswerWatcher {
 public:
  using Show = std::function<void(std::string_view)>;

  // `show` gets whole characters, never nothing. The tokenizer must outlive this.
  AnswerWatcher(const tokenizer::Tokenizer& tokenizer, const std::vector<std::string>& stop, Show show = {})
      : stream_(tokenizer, stop), show_(std::move(show)) {}

  // The next token of the answer; a reason when it is to be the last (engine::OnToken).
  [[nodiscard]] std::optional<engine::FinishReason> next(tokenizer::TokenId id);

  // Shows what was held back.
  void finish() { tell(stream_.flush()); }

 private:
  void tell(std::string_view text) {
    if (show_ && !text.empty()) show_(text);
  }

  chat::TextStream stream_;
  Show show_;
};

}  // namespace lockstep
