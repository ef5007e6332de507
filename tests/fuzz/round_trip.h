// For fuzz targets only: what must hold for any text and any vocabulary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_input.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::fuzz {

using tokenizer::TokenId;
using tokenizer::Tokenizer;

// Vocabularies that spell spaces as U+2581 give that character back as a space.
inline std::string with_real_spaces(std::string text) {
  for (size_t at = 0; (at = text.find("\xe2\x96\x81", at)) != text.npos;) text.replace(at, 3, " ");
  return text;
}

inline std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool show_special) {
  tokenizer::StreamDecoder decoder(tokenizer, {.show_special = show_special});
  std::string text;
  for (const TokenId id : ids) text += decoder.push(id);
  return text + decoder.flush();
}

// Ids are of the vocabulary, and pieces put together are the text, however it is decoded.
inline std::vector<TokenId> check_encoding(const Tokenizer& tokenizer, std::string_view text,
                                           tokenizer::EncodeOptions options) {
  const std::vector<TokenId> ids = tokenizer.encode(text, options);
  for (const TokenId id : ids) (void)tokenizer.piece(id);  // an id outside would be an Error
  require(ids == tokenizer.encode(text, options), "the same text gives the same ids");
  for (const bool show_special : {false, true}) {
    const std::string whole = tokenizer.decode(ids, {.show_special = show_special});
    require(whole == streamed(tokenizer, ids, show_special), "streamed text is the whole text");
  }
  return ids;
}

}  // namespace lockstep::fuzz
