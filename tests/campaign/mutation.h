// For tests only: one random change of a good model file. The same seed gives the same change.
#pragma once

#include <string>
#include <string_view>

#include "campaign/file_fields.h"
#include "forge/random_data.h"

namespace lockstep::campaign {

struct Mutation {
  std::string kind;  // "bit flips, directory", "length", "truncated, data", ...
  bool before_data = false;
  bool aimed = false;  // at a length, count, type, dimension, offset or id
  std::string bytes;   // of the whole file
};

// More than 80 % change what is before the tensor data, and more than half of these aim at a field.
[[nodiscard]] Mutation mutate(std::string_view file, const FileFields& fields, forge::RandomData& random);

}  // namespace lockstep::campaign
