// Finds added tokens in a text: user-defined ones everywhere, control ones only where the text may name them. The
// longest token goes first, wherever it stands; among equally long ones the lower id, then the leftmost place (as
// llama.cpp, which looks for each token in turn). Time: one walk down a trie for each byte of text. Immutable; safe
// from several threads.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/vocab.h"

namespace lockstep::tokenizer {

// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
};

// A stretch of text (id -1), which begins the text or follows an added token, or one added token.
struct Fragment {
  ByteRange range;
  TokenId id = -1;
};

class AddedTokens {
 public:
  // `texts` are the texts as stored, one for each token of `vocab`, which must outlive this.
  AddedTokens(const Vocab& vocab, const std::vector<std::string>& texts);

  // The fragments of `text` in order, none of them empty. A control token is recognised only inside one of the
  // `trusted` ranges, which are ascending and do not overlap. White space that a token swallows is in no fragment.
  [[nodiscard]] std::vector<Fragment> split(std::string_view text, std::span<const ByteRange> trusted) const;

 private:
  struct Node {
    unsigned char byte = 0;
    int32_t child = -1;    // first of the nodes one byte longer
    int32_t sibling = -1;  // next node with the same parent
    TokenId id = -1;       // the token that ends here
  };
  struct Search;

  void insert(std::string_view text, TokenId id);
  [[nodiscard]] int32_t child_of(int32_t node, unsigned char byte) const;
  [[nodiscard]] std::optional<Fragment> longest_at(const Search& search, size_t at, size_t max_size) const;
  void find_all(Search& search) const;
  void settle(Search& search) const;
  void accept(Search& search, const Fragment& match) const;

  const Vocab& vocab_;
  std::vector<Node> nodes_;
  std::array<int32_t, 256> roots_{};  // first nodes by their byte, -1: none
};

}  // namespace lockstep::tokenizer
