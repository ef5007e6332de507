#include "base/utf8.h"

namespace lockstep {
namespace {

struct Lead {
  size_t length;            // bytes of the whole character; 0 for a byte that cannot begin one
  unsigned char low, high;  // range of the second byte
};

Lead classify(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};  // no surrogates
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

// How many leading bytes of `text` agree with the character that its first byte announces.
size_t agreeing_bytes(std::string_view text, const Lead& lead) {
  size_t n = 1;
  while (n < lead.length && n < text.size()) {
    const auto byte = static_cast<unsigned char>(text[n]);
    const unsigned char low = n == 1 ? lead.low : 0x80;
    const unsigned char high = n == 1 ? lead.high : 0xbf;
    if (byte < low || byte > high) break;
    ++n;
  }
  return n;
}

}  // namespace

size_t utf8_valid_length(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = classify(static_cast<unsigned char>(text[0]));
  return lead.length != 0 && agreeing_bytes(text, lead) == lead.length ? lead.length : 0;
}

bool utf8_is_incomplete(std::string_view text) {
  if (text.empty()) return false;
  const Lead lead = classify(static_cast<unsigned char>(text[0]));
  return text.size() < lead.length && agreeing_bytes(text, lead) == text.size();
}

uint32_t utf8_decode(std::string_view text, size_t length) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (length == 1) return first;
  uint32_t code_point = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) code_point = (code_point << 6) | (static_cast<unsigned char>(text[i]) & 0x3fu);
  return code_point;
}

void utf8_append(std::string& out, uint32_t code_point) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    put(0xe0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xf0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3f));
    put(0x80 | ((code_point >> 6) & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

bool utf8_is_valid(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_valid_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string utf8_sanitize(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_valid_length(text);
    if (length != 0) {
      out.append(text.substr(0, length));
      text.remove_prefix(length);
      continue;
    }
    const Lead lead = classify(static_cast<unsigned char>(text[0]));
    utf8_append(out, 0xfffd);
    text.remove_prefix(lead.length == 0 ? 1 : agreeing_bytes(text, lead));
  }
  return out;
}

}  // namespace lockstep
