// Tokens in, text out, whole characters only: bytes that begin a character are held until the token that completes it.
// One decoder serves one stream of tokens and is used by one thread at a time; the tokenizer must outlive it.
#pragma once

#include <string>

#include "tokenizer/tokenizer.h"

namespace lockstep::tokenizer {

class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options)
      : tokenizer_(tokenizer), show_special_(options.show_special), at_start_(!options.continues) {}

  // The text that became complete with `id`; may be empty. Bytes that can no longer become a character are given out as
  // they are. All results and the flush together are decode() of all ids.
  [[nodiscard]] std::string push(TokenId id);

  // What was held: the begin of a character that never ended, raw. The decoder is then as after the last whole
  // character.
  [[nodiscard]] std::string flush();

 private:
  const Tokenizer& tokenizer_;
  bool show_special_;
  bool at_start_;
  std::string held_;  // at most three bytes between calls
};

}  // namespace lockstep::tokenizer
