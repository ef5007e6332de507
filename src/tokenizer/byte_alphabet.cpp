#include "tokenizer/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace lockstep::tokenizer {
namespace {

constexpr bool stands_for_itself(uint32_t c) {
  return (c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
}

constexpr uint32_t kFirstShifted = 0x100;
constexpr size_t kShiftedCount = 68;

constexpr std::array<uint8_t, kShiftedCount> shifted_bytes() {
  std::array<uint8_t, kShiftedCount> bytes{};
  size_t n = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (!stands_for_itself(byte)) bytes[n++] = static_cast<uint8_t>(byte);
  }
  return bytes;
}

constexpr std::array<uint8_t, kShiftedCount> kShifted = shifted_bytes();

}  // namespace

std::optional<uint8_t> byte_of_character(uint32_t code_point) {
  if (stands_for_itself(code_point)) return static_cast<uint8_t>(code_point);
  if (code_point >= kFirstShifted && code_point < kFirstShifted + kShiftedCount) {
    return kShifted[code_point - kFirstShifted];
  }
  return std::nullopt;
}

bool append_alphabet_bytes(std::string_view text, std::string& bytes) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_valid_length(text.substr(at, 4));
    if (length == 0) return false;
    const auto byte = byte_of_character(utf8_decode(text.substr(at), length));
    if (!byte) return false;
    bytes.push_back(static_cast<char>(*byte));
    at += length;
  }
  return true;
}

}  // namespace lockstep::tokenizer
