// For tests only: where the fields of a good GGUF file stand, so that mutations can aim at them. Its own small walk
// over the format, which trusts the file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::campaign {

enum class FieldKind { kLength, kCount, kType, kDimension, kOffset, kId, kName, kValue };
inline constexpr size_t kFieldKinds = 8;
std::string_view to_string(FieldKind kind);

struct Field {
  FieldKind kind;
  uint64_t at;
  uint64_t bytes;
};

struct Key {
  std::string name;
  uint64_t at;        // of its name's bytes
  uint64_t value_at;  // behind the type of the value
};

// Where the parts of an entry of the tensor table stand.
struct TensorEntry {
  std::string name;
  uint64_t name_at, n_dims_at, type_at, offset_at;
};

struct FileFields {
  std::array<std::vector<Field>, kFieldKinds> by_kind;
  std::vector<Key> keys;
  std::vector<TensorEntry> tensors;
  std::string architecture;
  uint64_t keys_end = 0;  // where the tensor table begins
  uint64_t data_start = 0;
  uint32_t alignment = 32;
};

// Where a header has the version and counts the tensors and the keys.
inline constexpr uint64_t kVersionAt = 4, kTensorCountAt = 8, kKeyCountAt = 16;

// `file` is a whole GGUF file, version 2 or 3. Of long arrays some items stand for all.
[[nodiscard]] FileFields fields_of(std::string_view file);

}  // namespace lockstep::campaign
