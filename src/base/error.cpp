#include "base/error.h"

#include "base/utf8.h"

namespace lockstep {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kBadFile:
      return "bad_file";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kBadRequest:
      return "bad_request";
    case ErrorCode::kContextFull:
      return "context_full";
    case ErrorCode::kNoMemory:
      return "no_memory";
    case ErrorCode::kTemplate:
      return "template";
    case ErrorCode::kNotFinite:
      return "not_finite";
  }
  return "unknown";
}

namespace {

// Characters that move a terminal, end a line or change the direction of what follows (Unicode categories Cc, Zl, Zp
// and the bidirectional controls).
bool is_control(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  size_t i = 0;
  while (i < text.size()) {
    if (i >= max_bytes) return out + "...";
    const size_t length = utf8_valid_length(text.substr(i));
    if (length == 0 || is_control(utf8_decode(text.substr(i), length))) {
      fmt::format_to(std::back_inserter(out), "\\x{:02X}", static_cast<unsigned char>(text[i]));
      i += 1;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  return out;
}

}  // namespace lockstep
