// Finds added tokens in a text: user-defined ones everywhere, control ones only where the text may name them. The
// longest token goes first, wherever it stands; among equally long ones the lower id, then the leftmost place (as
// llama.cpp, which looks for each token in turn). Time: O(n log n) for a text of n bytes, whatever the tokens
// are. Immutable; safe from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_matcher.h"
#include "tokenizer/vocab.h"

namespace lockstep::tokenizer {

// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
};

// A stretch of text (id -1), which begins the text or follows an added token, or one added token.
struct Fragment {
  uint32_t begin = 0;
  uint32_t end = 0;
  TokenId id = -1;
};

class AddedTokens {
 public:
  // `texts` are the texts as stored, one for each token of `vocab`, which must outlive this.
  // Errors: kUnsupported for an added token of more than 64 KiB, and for more than 16 MiB of them.
  AddedTokens(const Vocab& vocab, const std::vector<std::string>& texts);

  // The fragments of `text` in order, none of them empty. A control token is recognised only inside one of the
  // `trusted` ranges, which are ascending and do not overlap. White space that a token swallows is in no fragment.
  // Errors: kBadRequest for a text of 4 GiB.
  [[nodiscard]] std::vector<Fragment> split(std::string_view text, std::span<const ByteRange> trusted) const;

 private:
  struct Search;

  [[nodiscard]] Fragment fragment_of(size_t begin, int32_t control, int32_t plain) const;
  void propose(Search& search, size_t begin, int32_t control, int32_t plain) const;
  void find_all(Search& search) const;
  void settle(Search& search) const;
  void accept(Search& search, const Fragment& match) const;

  const Vocab& vocab_;
  TextMatcher controls_, plain_;  // plain: user-defined
  std::vector<TokenId> control_ids_, plain_ids_;
};

}  // namespace lockstep::tokenizer
