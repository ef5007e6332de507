// What the program says to people on standard error, each message one line.
#pragma once

#include <string_view>

namespace lockstep {

void print_error(std::string_view message);
void print_warning(std::string_view message);
// A line of statistics or the like.
void print_note(std::string_view message);
// Ends a line that standard output left open, so that what follows on a shared terminal or log begins a new one.
void print_line_end();

}  // namespace lockstep
