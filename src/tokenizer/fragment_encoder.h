// The algorithm that turns one stretch of ordinary text (no added tokens in it; it begins the prompt or follows an
// added token) into ids; bpe.h and spm.h implement it. Safe to call from several threads.
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/token_types.h"

namespace lockstep::tokenizer {

class FragmentEncoder {
 public:
  FragmentEncoder() = default;
  FragmentEncoder(const FragmentEncoder&) = delete;
  FragmentEncoder& operator=(const FragmentEncoder&) = delete;
  virtual ~FragmentEncoder() = default;

  // Appends the ids of `text` to `out`.
  virtual void encode(std::string_view text, std::vector<TokenId>& out) const = 0;
};

}  // namespace lockstep::tokenizer
