// The ids of a prompt's fragments (tokenizer/added_tokens.h), for the next prompt, which mostly repeats them: encoding
// a turn of a conversation then costs what is new in it, not what was said before. Holds the fragments of the last two
// prompts, and must be used with one tokenizer only. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/fragment_encoder.h"

namespace lockstep::tokenizer {

class FragmentMemory {
 public:
  // From now on a new prompt is encoded.
  void begin_prompt() { last_ = std::exchange(current_, {}); }

  // The ids of `text` by `encoder`, valid until the next call of either function. They depend on nothing but the text.
  const std::vector<TokenId>& ids_of(std::string_view text, const FragmentEncoder& encoder) {
    const auto repeated = current_.find(text);
    if (repeated != current_.end()) return repeated->second;
    const auto known = last_.find(text);
    if (known != last_.end()) return current_.insert(last_.extract(known)).position->second;
    std::vector<TokenId> ids;
    encoder.encode(text, ids);
    return current_.emplace(text, std::move(ids)).first->second;
  }

 private:
  // Ordered rather than hashed: no choice of texts makes it slow.
  using IdsByText = std::map<std::string, std::vector<TokenId>, std::less<>>;
  IdsByText current_, last_;
};

}  // namespace lockstep::tokenizer
