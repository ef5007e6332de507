// For tests only: a good GGUF file with one thing changed. Each function gives the bytes of the whole file.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "campaign/file_fields.h"

namespace lockstep::campaign {

// With `record` (name, type and value of a key) behind its keys, and the tensor data moved to where it must begin then.
[[nodiscard]] std::string with_record(std::string_view file, const FileFields& fields, std::string_view record);

// With the key, if it is there, under a name that means nothing.
[[nodiscard]] std::string without_key(std::string_view file, const FileFields& fields, std::string_view name);

// With `value` at `at`.
template <typename T>
[[nodiscard]] std::string with_number(std::string_view file, uint64_t at, T value) {
  std::string out(file);
  std::memcpy(&out.at(at), &value, sizeof(value));
  return out;
}

}  // namespace lockstep::campaign
