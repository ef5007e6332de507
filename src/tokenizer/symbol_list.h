// The pieces of a text while neighbours are being merged: a doubly linked list in one array, so that joining two pieces
// and finding their new neighbours takes constant time. For texts of less than 2 GiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/token_types.h"

namespace lockstep::tokenizer {

struct Symbol {
  uint32_t begin = 0;  // offset of its first byte
  uint32_t size = 0;   // bytes; 0 after it was merged into its left neighbour
  TokenId id = -1;     // -1 when no token spells it
  int32_t previous = -1;
  int32_t next = -1;
};

class SymbolList {
 public:
  void clear() { symbols_.clear(); }

  void append(size_t begin, size_t size, TokenId id) {
    const auto at = static_cast<int32_t>(symbols_.size());
    if (at > 0) symbols_.back().next = at;
    symbols_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(size), id, at - 1, -1});
  }

  [[nodiscard]] int32_t size() const { return static_cast<int32_t>(symbols_.size()); }
  [[nodiscard]] const Symbol& operator[](int32_t at) const { return symbols_[static_cast<size_t>(at)]; }

  // Joins the symbol at `left` with the one after it; the joined symbol has token `id`.
  void merge_with_next(int32_t left, TokenId id) {
    Symbol& into = symbols_[static_cast<size_t>(left)];
    Symbol& from = symbols_[static_cast<size_t>(into.next)];
    into.size += from.size;
    into.id = id;
    into.next = from.next;
    from.size = 0;
    if (into.next >= 0) symbols_[static_cast<size_t>(into.next)].previous = left;
  }

 private:
  std::vector<Symbol> symbols_;
};

}  // namespace lockstep::tokenizer
