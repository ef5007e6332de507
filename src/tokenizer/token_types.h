// The plain words that the tokenizer floor shares: ids, the types a vocabulary gives its tokens, and how token texts
// spell bytes.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::tokenizer {

using TokenId = int32_t;

// The numbers of `tokenizer.ggml.token_type`.
enum class TokenType : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

// How the text of an ordinary token stands for bytes.
enum class TextCoding : uint8_t {
  kByteLevel,      // one character of GPT-2's alphabet per byte (byte_alphabet.h)
  kSpelledSpaces,  // UTF-8 in which U+2581 stands for a space, bytes as <0xNN>
  kPlain,          // UTF-8 as it is, bytes as <0xNN>
};

struct Token {
  std::string bytes;  // what the token adds to a text; for control tokens their name
  float score = 0;
  TokenType type = TokenType::kNormal;
  bool always_shown = false;  // a control token whose name belongs into decoded text (gpt-oss channel markers)
  bool strip_left = false;    // as an added token it swallows the white space before it
  bool strip_right = false;   // ... and after it

  // Named by the file or the template, never spelled by ordinary text.
  [[nodiscard]] bool is_control() const { return type == TokenType::kControl || type == TokenType::kUnknown; }
};

}  // namespace lockstep::tokenizer
