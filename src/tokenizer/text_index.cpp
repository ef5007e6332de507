#include "tokenizer/text_index.h"

#include <algorithm>
#include <bit>

namespace lockstep::tokenizer {

// At most two thirds full, so that a probe ends after a few steps.
TextIndex::TextIndex(size_t max_keys) : slots_(std::bit_ceil(max_keys + max_keys / 2 + 2)), max_keys_(max_keys) {}

size_t TextIndex::slot_of(std::string_view key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash_(key) & mask;
  while (slots_[at].id >= 0 && slots_[at].key != key) at = (at + 1) & mask;
  return at;
}

bool TextIndex::insert(std::string_view key, TokenId id) {
  Slot& slot = slots_[slot_of(key)];
  if (slot.id >= 0 || n_keys_ == max_keys_) return false;
  slot = {key, id};
  ++n_keys_;
  longest_ = std::max(longest_, key.size());
  return true;
}

TokenId TextIndex::find(std::string_view key) const {
  return slots_[slot_of(key)].id;
}

}  // namespace lockstep::tokenizer
