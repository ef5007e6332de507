// The token sequences over which DRY's repetitions do not reach. Immutable after construction; safe to read from
// several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/candidates.h"

namespace lockstep::sampling {

using TokenSequence = std::vector<TokenId>;

class DryBreakers {
 public:
  DryBreakers() = default;
  // Error kBadRequest for an empty sequence.
  explicit DryBreakers(std::span<const TokenSequence> sequences);
  DryBreakers(std::initializer_list<TokenSequence> sequences);

  // The token sequences that spell a breaker text: a token containing the whole text, or a token that ends with its
  // beginning followed by the tokens of its rest. piece(id) gives a token's bytes (special tokens spelled out);
  // encode(text) the ids of a text without special tokens. Texts are cut after 40 bytes and rests after 20 tokens,
  // empty texts are passed over, as in llama.cpp. One pass over the vocabulary; each rest is encoded and kept once.
  // Errors: kBadRequest for more texts, bytes or sequences than the limits in the .cpp.
  [[nodiscard]] static DryBreakers of_texts(std::span<const std::string> texts, int32_t n_vocab,
                                            const std::function<std::string_view(TokenId)>& piece,
                                            const std::function<TokenSequence(const std::string&)>& encode);

  [[nodiscard]] bool empty() const { return sequences_.empty(); }

  // Tokens of the longest breaker that `tokens` begins with, 0: none does.
  [[nodiscard]] size_t longest_at(std::span<const TokenId> tokens) const;

  // True for a breaker of this token alone.
  [[nodiscard]] bool has_alone(TokenId id) const;

  // A token id that is not in [0, n_vocab).
  [[nodiscard]] std::optional<TokenId> id_outside(int32_t n_vocab) const;

  // All of them, sorted.
  [[nodiscard]] std::vector<TokenSequence> sequences() const;

 private:
  struct Sequence {
    TokenId head;
    uint32_t rest;  // in rests_
    friend auto operator<=>(const Sequence&, const Sequence&) = default;
  };
  class Builder;

  void sort();
  [[nodiscard]] std::span<const Sequence> from(TokenId head) const;

  std::vector<Sequence> sequences_;          // sorted, without duplicates
  std::vector<TokenSequence> rests_ = {{}};  // what follows the heads; the first is nothing
};

}  // namespace lockstep::sampling
