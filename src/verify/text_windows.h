// A text cut into windows of the same number of tokens, as llama-perplexity cuts it. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/session.h"

namespace lockstep::verify {

using tokenizer::TokenId;

// The second half of each window is scored: the logits of positions size/2 .. size-2, each with the token that follows.
struct TextWindows {
  std::vector<TokenId> tokens;  // [n_windows, size]
  int64_t size = 0;

  static constexpr int64_t kLeastSize = 4;  // one scored position

  [[nodiscard]] int64_t count() const { return static_cast<int64_t>(tokens.size()) / size; }
  [[nodiscard]] std::span<const TokenId> window(int64_t i) const {
    return std::span(tokens).subspan(static_cast<size_t>(i * size), static_cast<size_t>(size));
  }
  [[nodiscard]] int64_t first_scored() const { return size / 2; }
  [[nodiscard]] int64_t n_scored() const { return size - 1 - first_scored(); }  // of one window
};

// The first `most` whole windows of `text` (all of them when most <= 0). Names of control tokens in it are plain text.
// Where the vocabulary begins texts with BOS, the text has one, and every window's first token gives way to it: what
// llama-perplexity does (tools/perplexity, 2026). A text of fewer than two windows, which llama-perplexity refuses, is
// measured by the one it has. Error kBadRequest for a size that is too small, or a text shorter than one window.
[[nodiscard]] TextWindows cut_windows(const tokenizer::Tokenizer& tokenizer, std::string_view text, int64_t size,
                                      int64_t most);

}  // namespace lockstep::verify
