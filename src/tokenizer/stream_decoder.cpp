#include "tokenizer/stream_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/utf8.h"

namespace lockstep::tokenizer {
namespace {

// How many bytes at the end of `text` may still become a character.
size_t incomplete_tail(std::string_view text) {
  for (size_t size = std::min<size_t>(3, text.size()); size > 0; --size) {
    if (utf8_is_incomplete(text.substr(text.size() - size))) return size;
  }
  return 0;
}

}  // namespace

std::string StreamDecoder::push(TokenId id) {
  std::string text = std::exchange(held_, {});
  tokenizer_.append_piece(id, show_special_, at_start_, text);
  const size_t tail = incomplete_tail(text);
  held_ = text.substr(text.size() - tail);
  text.resize(text.size() - tail);
  return text;
}

std::string StreamDecoder::flush() {
  return std::exchange(held_, {});
}

}  // namespace lockstep::tokenizer
