// For tests only: files built byte by byte, so that they can be wrong in any way, and what is said about them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "forge/sanitized.h"
#include "gguf/metadata.h"
#include "gguf/model_file.h"

namespace lockstep::gguf {

using lockstep::kSanitized;

inline std::filesystem::path forged_path(std::string_view name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / (std::string(test->test_suite_name()) + "." + test->name());
  std::filesystem::create_directories(folder);
  return folder / name;
}

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.good()) << path;
}

// The message of the Error that opening `path` throws; "" when it opens.
inline std::string refusal(const std::filesystem::path& path) {
  try {
    (void)ModelFile::open(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The message after the path for a file with these bytes; every message must be one line that begins with the path.
inline std::string refusal_of(std::string_view bytes) {
  const std::filesystem::path path = forged_path("forged.gguf");
  write_bytes(path, bytes);
  std::string message = refusal(path);
  const std::string start = path.native() + ": ";
  if (message.empty()) return message;
  EXPECT_TRUE(message.starts_with(start)) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message.substr(std::min(start.size(), message.size()));
}

// Records of a GGUF file, none of them checked.
class ByteBuilder {
 public:
  template <typename T>
  ByteBuilder& number(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    bytes_.append(bytes, sizeof(T));
    return *this;
  }
  ByteBuilder& raw(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  ByteBuilder& text(std::string_view text) { return number(uint64_t{text.size()}).raw(text); }
  ByteBuilder& header(uint64_t n_tensors, uint64_t n_keys, uint32_t version = 3) {
    return raw("GGUF").number(version).number(n_tensors).number(n_keys);
  }
  ByteBuilder& key(std::string_view name, ValueType type) { return text(name).number(static_cast<uint32_t>(type)); }
  ByteBuilder& array(std::string_view name, ValueType element, uint64_t count) {
    return key(name, ValueType::kArray).number(static_cast<uint32_t>(element)).number(count);
  }
  ByteBuilder& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
    text(name).number(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) number(dim);
    return number(type).number(offset);
  }
  // Pads to a multiple of `alignment`, then `n` bytes of data.
  ByteBuilder& data(size_t n, size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment + n, '\x11');
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace lockstep::gguf
