#include "base/error.h"

#include "base/utf8.h"

namespace lockstep {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage: return "usage";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kBadFile: return "bad_file";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kBadRequest: return "bad_request";
    case ErrorCode::kContextFull: return "context_full";
    case ErrorCode::kNoMemory: return "no_memory";
    case ErrorCode::kNotFinite: return "not_finite";
  }
  return "unknown";
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  size_t i = 0;
  while (i < text.size()) {
    if (i >= max_bytes) return out + "...";
    const size_t length = utf8_valid_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = byte < 0x20 || byte == 0x7f || (length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (length == 0 || control) {
      fmt::format_to(std::back_inserter(out), "\\x{:02X}", byte);
      i += 1;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  return out;
}

}  // namespace lockstep
