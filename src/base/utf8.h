// UTF-8 as byte strings: where a character ends, whether bytes are well formed (Unicode 15, table 3-7), and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

// Bytes of the well-formed character that `text` begins with (1..4); 0 when it does not begin with one or is empty.
[[nodiscard]] size_t utf8_valid_length(std::string_view text);

// True when `text` (not empty) is a proper prefix of some well-formed character: more bytes may complete it.
[[nodiscard]] bool utf8_is_incomplete(std::string_view text);

// The code point of a well-formed character of `length` bytes (from utf8_valid_length).
[[nodiscard]] uint32_t utf8_decode(std::string_view text, size_t length);

// Appends `code_point` (at most 0x10FFFF) in UTF-8.
void utf8_append(std::string& out, uint32_t code_point);

[[nodiscard]] bool utf8_is_valid(std::string_view text);

// `text` with every maximal ill-formed part replaced by one U+FFFD (the practice that Unicode recommends, section 3.9).
[[nodiscard]] std::string utf8_sanitize(std::string_view text);

}  // namespace lockstep
