// Names in a message: sorted, each once, made printable, not too many. Pure.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// "a, b, c", and "and N more" after the first twenty.
[[nodiscard]] std::string listed_names(std::vector<std::string> names);

}  // namespace lockstep
