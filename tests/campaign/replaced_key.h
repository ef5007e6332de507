// For tests only: a file in which one hyper-parameter, or key of a split set, has another value of any type.
#pragma once

#include <string>
#include <string_view>

#include "campaign/file_fields.h"
#include "forge/random_data.h"

namespace lockstep::campaign {

// The key that was there, if any, gets another name; the new record stands behind the others, and the tensor data moves
// to where it must begin then.
[[nodiscard]] std::string replace_key(std::string_view file, const FileFields& fields, forge::RandomData& random);

}  // namespace lockstep::campaign
