// DRY ("don't repeat yourself"): a token that would continue a repetition of the last accepted tokens is lowered by
// multiplier * base^(length of the repetition - allowed length). Repetitions do not reach over a sequence breaker.
// Semantics are those of llama.cpp v0.4.0 (src/llama-sampler.cpp; the idea is p-e-w's, text-generation-webui #5677).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sampling/candidates.h"

namespace lockstep::sampling {

using TokenSequence = std::vector<TokenId>;

struct Dry {
  float multiplier;  // 0 = off
  float base;        // below 1 = off
  int32_t allowed_length;
  std::span<const TokenSequence> breakers;  // sorted, none empty
};

// Lowers the logits of continuing tokens; `window` is the part of the history that is looked at. Linear in the window.
void dry(Candidates& list, std::span<const TokenId> window, const Dry& by);

// The token sequences that spell a breaker text: a token containing the whole text, or a token that ends with its
// beginning followed by the tokens of its rest. piece(id) gives a token's bytes (special tokens spelled out);
// encode(text) the ids of a text without special tokens. Texts are cut after 40 bytes and rests after 20 tokens, empty
// texts are passed over, as in llama.cpp. The result is sorted, without duplicates.
[[nodiscard]] std::vector<TokenSequence> make_dry_breakers(
    std::span<const std::string> texts, int32_t n_vocab, const std::function<std::string(TokenId)>& piece,
    const std::function<TokenSequence(const std::string&)>& encode);

}  // namespace lockstep::sampling
