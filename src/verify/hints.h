// What it usually means when a tensor is the first that differs: the mistakes that everyone makes once. Pure functions.
#pragma once

#include <string_view>

namespace lockstep::verify {

// One line, or empty for a tensor that no hint is known for. `name` with or without its layer.
[[nodiscard]] std::string_view hint_for(std::string_view name, std::string_view op);

}  // namespace lockstep::verify
