#include "terminal.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace lockstep {
namespace {

// Copies `text`, giving `special` the first say on each byte; what it leaves alone goes through printable().
template <typename Special>
std::string translate(std::string_view text, const Special& special) {
  std::string out;
  size_t start = 0;
  const auto copy_until = [&](size_t end) { out += printable(text.substr(start, end - start), text.size()); };
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view replacement = special(text[i]);
    if (replacement.empty()) continue;
    copy_until(i);
    out += replacement;
    start = i + 1;
  }
  copy_until(text.size());
  return out;
}

// The first bytes of a longer text; a character that begins in them and does not end there is left out.
std::string_view whole_characters(std::string_view text, size_t n_bytes) {
  for (size_t begin = n_bytes - std::min<size_t>(n_bytes, 3); begin < n_bytes; ++begin) {
    if (begin + utf8_valid_length(text.substr(begin)) > n_bytes) return text.substr(0, begin);
  }
  return text.substr(0, n_bytes);
}

}  // namespace

bool is_terminal(std::FILE* file) {
  return ::isatty(::fileno(file)) == 1;
}

std::string terminal_text(std::string_view text) {
  return translate(text, [](char c) -> std::string_view {
    if (c == '\n') return "\n";
    return c == '\t' ? "\t" : "";
  });
}

std::string escaped_piece(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) return escaped_piece(whole_characters(text, max_bytes)) + "...";
  return translate(text, [](char c) -> std::string_view {
    switch (c) {
      case '\n':
        return "\\n";
      case '\t':
        return "\\t";
      case '\r':
        return "\\r";
      case '\\':
        return "\\\\";
      default:
        return "";
    }
  });
}

}  // namespace lockstep
