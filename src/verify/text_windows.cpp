#include "verify/text_windows.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep::verify {
namespace {

std::vector<TokenId> text_tokens(const tokenizer::Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> tokens = tokenizer.encode(text, {.add_special = true, .parse_special = false});
  if (tokenizer.adds_eos() && !tokens.empty() && tokens.back() == tokenizer.eos()) tokens.pop_back();
  return tokens;
}

}  // namespace

TextWindows cut_windows(const tokenizer::Tokenizer& tokenizer, std::string_view text, int64_t size, int64_t most) {
  if (size < TextWindows::kLeastSize)
    fail(ErrorCode::kBadRequest, "windows of {} tokens: expected {} or more", size, TextWindows::kLeastSize);
  TextWindows windows = {text_tokens(tokenizer, text), size};
  const auto n_tokens = static_cast<int64_t>(windows.tokens.size());
  if (n_tokens < size)
    fail(ErrorCode::kBadRequest, "the text has {} tokens, expected at least one window of {}", n_tokens, size);
  const int64_t n_windows = most > 0 ? std::min(most, n_tokens / size) : n_tokens / size;
  windows.tokens.resize(static_cast<size_t>(n_windows * size));
  if (tokenizer.adds_bos() && tokenizer.bos()) {
    for (int64_t i = 0; i < n_windows; ++i) windows.tokens[static_cast<size_t>(i * size)] = *tokenizer.bos();
  }
  return windows;
}

}  // namespace lockstep::verify
