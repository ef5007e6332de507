// SentencePiece-style encoding: characters, then of all neighbouring pairs that spell a token the one with the highest
// score merges, leftmost first, until none is left; what no token spells becomes bytes. O(n log n) for n bytes of text.
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/fragment_encoder.h"
#include "tokenizer/vocab.h"

namespace lockstep::tokenizer {

class SpmEncoder final : public FragmentEncoder {
 public:
  // `vocab` must outlive the encoder. With `add_space_prefix` every text is encoded as if a space stood before it.
  SpmEncoder(const Vocab& vocab, bool add_space_prefix) : vocab_(vocab), add_space_prefix_(add_space_prefix) {}

  void encode(std::string_view text, std::vector<TokenId>& out) const override;

 private:
  struct Workspace;
  void propose(int32_t left, Workspace& work) const;
  void merge_all(Workspace& work) const;

  const Vocab& vocab_;
  bool add_space_prefix_;
};

}  // namespace lockstep::tokenizer
