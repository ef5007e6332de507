// Byte pair encoding by a ranked list of merges: of all neighbouring pairs that may merge, the one listed first does,
// leftmost first, until none is left. Each pre-token is merged by itself. O(n log n) for a pre-token of n bytes.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/fragment_encoder.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/vocab.h"

namespace lockstep::tokenizer {

class BpeEncoder final : public FragmentEncoder {
 public:
  // `vocab` must outlive the encoder.
  BpeEncoder(const Vocab& vocab, MergeTable merges, Pretokenizer pretokenizer);

  void encode(std::string_view text, std::vector<TokenId>& out) const override;

 private:
  struct Workspace;
  void encode_pre_token(std::string_view text, Workspace& work, std::vector<TokenId>& out) const;
  void split_into_symbols(std::string_view text, Workspace& work) const;
  void propose(int32_t left, Workspace& work) const;
  void merge_all(Workspace& work) const;
  [[nodiscard]] TokenId whole_token(std::string_view text) const;

  const Vocab& vocab_;
  MergeTable merges_;
  Pretokenizer pretokenizer_;
};

}  // namespace lockstep::tokenizer
