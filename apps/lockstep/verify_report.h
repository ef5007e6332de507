// The result of holding a pass against a reference, for people and for scripts. Pure functions.
#pragma once

#include <string>

#include "json_text.h"
#include "verify/compare.h"

namespace lockstep {

[[nodiscard]] Json verify_json(const verify::Report& report);

// A table by layer, what was not compared, the first tensor that diverges with what it may mean, and the verdict.
[[nodiscard]] std::string verify_text(const verify::Report& report);

}  // namespace lockstep
