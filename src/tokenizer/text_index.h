// A hash table from byte strings to token ids, made for one big build and many short look-ups (a vocabulary of 262,144
// tokens fills in a few milliseconds, whatever its texts are). Keys are views: their bytes must outlive the table. Safe
// to read from several threads.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "tokenizer/token_types.h"

namespace lockstep::tokenizer {

class TextIndex {
 public:
  explicit TextIndex(size_t max_keys);

  // False, and nothing changes, when `key` is there already or the table holds `max_keys` keys.
  bool insert(std::string_view key, TokenId id);

  // The id under `key`, or -1.
  [[nodiscard]] TokenId find(std::string_view key) const;

  // No key is longer than this.
  [[nodiscard]] size_t longest_key() const { return longest_; }

 private:
  struct Slot {
    std::string_view key;
    TokenId id = -1;
  };
  [[nodiscard]] size_t slot_of(std::string_view key) const;

  TextHash hash_;
  std::vector<Slot> slots_;
  size_t n_keys_ = 0;
  size_t max_keys_;
  size_t longest_ = 0;
};

}  // namespace lockstep::tokenizer
