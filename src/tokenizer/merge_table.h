// The merges of a BPE vocabulary: which two neighbouring tokens join, how early, and into what. Immutable after
// loading; safe to read from several threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "gguf/metadata.h"
#include "tokenizer/vocab.h"

namespace lockstep::tokenizer {

class MergeTable {
 public:
  struct Merge {
    int32_t rank = -1;  // place in the list, the lowest goes first; -1: the pair does not merge
    TokenId result = -1;
  };

  // From tokenizer.ggml.merges, lines "left right" in the vocabulary's coding. The key is required. A line whose parts
  // or result are not ordinary tokens is skipped and counted; one warning is added for all of them.
  static MergeTable load(const gguf::Metadata& metadata, const Vocab& vocab, std::vector<std::string>& warnings);

  [[nodiscard]] Merge find(TokenId left, TokenId right) const;

 private:
  explicit MergeTable(size_t max_merges);
  void insert(TokenId left, TokenId right, Merge merge);
  [[nodiscard]] size_t slot_of(uint64_t pair) const;

  struct Slot {
    uint64_t pair = kEmpty;
    Merge merge;
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // ids are not negative, so no pair looks like this
  NumberHash hash_;
  std::vector<Slot> slots_;  // open addressing, at most half full
  unsigned shift_;
};

}  // namespace lockstep::tokenizer
