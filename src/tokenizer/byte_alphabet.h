// GPT-2's alphabet: one printable character for each of the 256 byte values, in which byte-level vocabularies write
// their tokens (openai/gpt-2, src/encoder.py, bytes_to_unicode: printable Latin-1 stands for itself, the other 68 bytes
// follow from U+0100 on).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::tokenizer {

// The byte that a character of the alphabet stands for; nothing for any other character.
[[nodiscard]] std::optional<uint8_t> byte_of_character(uint32_t code_point);

// Appends the bytes that `text` spells to `bytes`; false when it holds a character outside the alphabet.
[[nodiscard]] bool append_alphabet_bytes(std::string_view text, std::string& bytes);

}  // namespace lockstep::tokenizer
