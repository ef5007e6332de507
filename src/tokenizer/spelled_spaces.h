// U+2581, the character by which SentencePiece vocabularies spell a space. Inside lockstep such texts and tokens hold
// real spaces; the two spellings mean the same to these vocabularies, so nothing else is lost.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::tokenizer {

inline constexpr std::string_view kSpelledSpace = "\xe2\x96\x81";

// `text` with a space for every U+2581.
[[nodiscard]] std::string with_real_spaces(std::string_view text);

}  // namespace lockstep::tokenizer
