// For tests only: the reference data of an independent implementation, in the folder that LOCKSTEP_GOLDEN names or, for
// a few files, in tests/data of this project.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"

namespace lockstep::golden {

// Empty when the variable is not set.
inline std::filesystem::path folder_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

inline std::filesystem::path project_data() {
  return std::filesystem::path(__FILE__).parent_path() / "../data";
}

inline std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::string bytes = read_text_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

inline nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(read_text_file(path));
}

// The lines of a JSONL file. LOCKSTEP_SHORT=1: two of them only.
inline std::vector<nlohmann::json> read_json_lines(const std::filesystem::path& path) {
  std::istringstream lines(read_text_file(path));
  std::vector<nlohmann::json> parsed;
  for (std::string line; std::getline(lines, line);) parsed.push_back(nlohmann::json::parse(line));
  const char* is_short = std::getenv("LOCKSTEP_SHORT");
  if (is_short != nullptr && *is_short == '1') parsed.resize(2);
  return parsed;
}

}  // namespace lockstep::golden

#define LOCKSTEP_NEEDS_FOLDER(path, variable) \
  if ((path).empty()) GTEST_SKIP() << "needs the folder that " variable " names"
