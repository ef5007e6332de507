// Values that are looked at while the command line is read: what is wrong with them is wrong with the command line.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace lockstep {

// "option n_predict: ..." as the command line spells it: "option --n-predict: ...".
[[nodiscard]] std::string spelled_as_flag(std::string message);

// check() with every Error kBadRequest thrown on as kUsage.
template <typename Check>
auto as_usage(const Check& check) {
  try {
    return check();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadRequest) throw;
    throw Error(ErrorCode::kUsage, spelled_as_flag(error.what()));
  }
}

}  // namespace lockstep
