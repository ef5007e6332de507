// What is different when a person looks: whether a stream is a terminal, and text that cannot move its cursor.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace lockstep {

[[nodiscard]] bool is_terminal(std::FILE* file);

// `text` with control characters (but line ends and tabs) and bytes that are not UTF-8 as \xNN: a model must not set
// the window title or clear the screen.
[[nodiscard]] std::string terminal_text(std::string_view text);

// A token's piece on one line: as terminal_text, with \n, \t, \r and the backslash escaped too, so that it can be read
// back, unless it is cut: with "..." after `max_bytes` bytes or up to 3 less, a whole character.
[[nodiscard]] std::string escaped_piece(std::string_view text, size_t max_bytes = std::string_view::npos);

}  // namespace lockstep
