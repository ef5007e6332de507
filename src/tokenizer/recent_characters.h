// Characters of Unicode 15.0 and 15.1. llama.cpp's tables are those of Unicode 15.1; a PCRE2 that knows an older
// version (10.42: 14.0) takes these characters for unassigned and would split text differently. Before splitting, each
// is therefore stood in for by an older character of the same general category (and, for Han, script) and the same
// length in UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::tokenizer {

// The stand-in for `code_point`; `code_point` itself when it is not one of them.
[[nodiscard]] uint32_t stand_in_for(uint32_t code_point);

// Whether well-formed `text` holds one of them.
[[nodiscard]] bool holds_recent_characters(std::string_view text);

// Well-formed `text` with stand-ins; every other character keeps its offset.
[[nodiscard]] std::string with_stand_ins(std::string_view text);

}  // namespace lockstep::tokenizer
