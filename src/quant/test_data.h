// For tests only: the files of tests/data/quant (see the README there) and the types that have them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "quant/format.h"

namespace lockstep::quant::test {

inline std::filesystem::path data_path(const std::string& file_name) {
  return std::filesystem::path(__FILE__).parent_path() / "../../tests/data/quant" / file_name;
}

inline std::vector<std::byte> read_bytes(const std::string& file_name) {
  std::ifstream in(data_path(file_name), std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + data_path(file_name).string());
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

inline std::vector<float> read_floats(const std::string& file_name) {
  const std::vector<std::byte> bytes = read_bytes(file_name);
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

// The types with a one form, in the order of their numbers.
inline std::vector<TensorType> quantized_types() {
  std::vector<TensorType> types;
  for (const FormatInfo& format : all_formats()) {
    if (format.supported && format.block_size > 1) types.push_back(format.type);
  }
  return types;
}

// For INSTANTIATE_TEST_SUITE_P.
inline std::string type_name(const testing::TestParamInfo<TensorType>& info) {
  return std::string(to_string(info.param));
}

}  // namespace lockstep::quant::test
