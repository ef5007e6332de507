#include "gguf/key_values.h"

#include <algorithm>
#include <bit>
#include <new>
#include <type_traits>
#include <utility>

namespace lockstep::gguf {
namespace {

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMostAlignment = uint64_t{1} << 20;

// Bytes of one value; for a string, of an empty one.
uint64_t least_bytes(ValueType type) {
  switch (type) {
    case ValueType::kU8:
    case ValueType::kI8:
    case ValueType::kBool:
      return 1;
    case ValueType::kU16:
    case ValueType::kI16:
      return 2;
    case ValueType::kU32:
    case ValueType::kI32:
    case ValueType::kF32:
      return 4;
    default:
      return 8;
  }
}

ValueType read_type(Cursor& cursor, std::string_view what) {
  const auto number = cursor.number<uint32_t>(what);
  if (number > static_cast<uint32_t>(ValueType::kF64)) {
    cursor.refuse(ErrorCode::kBadFile, "unknown {} {}, the types are 0 to 12", what, number);
  }
  return static_cast<ValueType>(number);
}

// Reads name and type of the next record.
ValueType start_key(Cursor& cursor, uint64_t index, uint64_t n_keys) {
  cursor.start_record("key", index, n_keys);
  cursor.read_name("key");
  return read_type(cursor, "value type");
}

struct ArrayHead {
  ValueType type;
  uint64_t count;
};

ArrayHead read_array_head(Cursor& cursor) {
  const ValueType type = read_type(cursor, "element type");
  if (type == ValueType::kArray) cursor.refuse(ErrorCode::kUnsupported, "arrays of arrays are not supported");
  return {type, cursor.count(least_bytes(type), "element count")};
}

// What a string takes in memory: short ones nothing beside the object.
uint64_t memory_of_string(uint64_t length) {
  constexpr uint64_t kInside = 15;
  constexpr uint64_t kPerBlock = 32;  // of the allocator, and rounding
  return sizeof(std::string) + (length > kInside ? length + kPerBlock : 0);
}

// The checks return what the value will take in memory.
uint64_t check_array(Cursor& cursor) {
  const auto [type, count] = read_array_head(cursor);
  if (type != ValueType::kString) {
    const uint64_t n_bytes = count * least_bytes(type);  // cannot wrap: count <= bytes left / size
    cursor.skip(n_bytes, "array");
    return n_bytes;
  }
  uint64_t memory = 0;
  for (uint64_t i = 0; i < count; ++i) {
    cursor.place().item = i;
    memory += memory_of_string(cursor.skip_string("string"));
  }
  return memory;
}

uint64_t check_value(Cursor& cursor, ValueType type) {
  switch (type) {
    case ValueType::kArray:
      return check_array(cursor);
    case ValueType::kString:
      return memory_of_string(cursor.skip_string("string"));
    default:
      cursor.skip(least_bytes(type), "value");
      return 0;
  }
}

// Very many very short keys and strings take a multiple of their bytes in the file. No model has them: one whose
// weights are there too is far below.
void check_memory(const Cursor& cursor, uint64_t memory) {
  constexpr uint64_t kBesideTheFile = uint64_t{80} << 20;
  if (memory <= cursor.file().size() + kBesideTheFile) return;
  cursor.refuse(ErrorCode::kUnsupported,
                "up to here the metadata takes {} bytes of memory, expected at most the {} of the file and {}", memory,
                cursor.file().size(), kBesideTheFile);
}

uint64_t read_alignment(Cursor& cursor, ValueType type) {
  if (type != ValueType::kU32) cursor.refuse(ErrorCode::kBadFile, "found {}, wanted u32", to_string(type));
  const uint64_t alignment = cursor.number<uint32_t>("value");
  if (!std::has_single_bit(alignment) || alignment > kMostAlignment) {
    cursor.refuse(ErrorCode::kBadFile, "found {}, wanted a power of two from 1 to {}", alignment, kMostAlignment);
  }
  return alignment;
}

template <typename T>
T read_one(Cursor& cursor) {
  if constexpr (std::is_same_v<T, std::string>) {
    std::string text;
    cursor.read_string(text, "string");
    return text;
  } else if constexpr (std::is_same_v<T, bool>) {
    const auto byte = cursor.number<uint8_t>("value");
    if (byte > 1) cursor.refuse(ErrorCode::kBadFile, "found {}, wanted a bool of 0 or 1", byte);
    return byte == 1;
  } else {
    return cursor.number<T>("value");
  }
}

template <typename T>
std::vector<T> read_items(Cursor& cursor, uint64_t count) {
  std::vector<T> items(count);  // count <= bytes left / size, and check_key_values has seen every string
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    for (uint64_t i = 0; i < count; ++i) {
      cursor.place().item = i;
      items[i] = read_one<T>(cursor);
    }
  } else {
    cursor.read(std::as_writable_bytes(std::span(items)), "array");
  }
  return items;
}

// Calls f(std::type_identity<T>) with the C++ type of a value that is not an array.
template <typename F>
auto with_type(ValueType type, F f) {
  switch (type) {
    case ValueType::kU8:
      return f(std::type_identity<uint8_t>());
    case ValueType::kI8:
      return f(std::type_identity<int8_t>());
    case ValueType::kU16:
      return f(std::type_identity<uint16_t>());
    case ValueType::kI16:
      return f(std::type_identity<int16_t>());
    case ValueType::kU32:
      return f(std::type_identity<uint32_t>());
    case ValueType::kI32:
      return f(std::type_identity<int32_t>());
    case ValueType::kF32:
      return f(std::type_identity<float>());
    case ValueType::kBool:
      return f(std::type_identity<bool>());
    case ValueType::kU64:
      return f(std::type_identity<uint64_t>());
    case ValueType::kI64:
      return f(std::type_identity<int64_t>());
    case ValueType::kF64:
      return f(std::type_identity<double>());
    case ValueType::kString:
    case ValueType::kArray:
      break;
  }
  return f(std::type_identity<std::string>());
}

Value read_value(Cursor& cursor, ValueType type) {
  if (type != ValueType::kArray) {
    return with_type(
        type, [&]<typename T>(std::type_identity<T>) { return Value(std::in_place_type<T>, read_one<T>(cursor)); });
  }
  const ArrayHead head = read_array_head(cursor);
  return with_type(head.type, [&]<typename T>(std::type_identity<T>) {
    return Value(std::in_place_type<ArrayValue>, read_items<T>(cursor, head.count));
  });
}

}  // namespace

uint64_t check_key_values(Cursor& cursor, uint64_t n_keys) {
  uint64_t alignment = kDefaultAlignment;
  uint64_t memory = 0;
  for (uint64_t i = 0; i < n_keys; ++i) {
    const ValueType type = start_key(cursor, i, n_keys);
    memory +=
        sizeof(Metadata::Entry) + sizeof(uint64_t) + memory_of_string(cursor.place().name.size()) - sizeof(std::string);
    if (cursor.place().name == "general.alignment") {
      alignment = read_alignment(cursor, type);
    } else {
      memory += check_value(cursor, type);
    }
    check_memory(cursor, memory);
  }
  return alignment;
}

Metadata read_key_values(Cursor& cursor, uint64_t n_keys) {
  try {
    std::vector<Metadata::Entry> entries;
    entries.reserve(n_keys);  // all of them were seen by check_key_values
    for (uint64_t i = 0; i < n_keys; ++i) {
      const ValueType type = start_key(cursor, i, n_keys);
      std::string key = cursor.place().name;
      entries.push_back({std::move(key), read_value(cursor, type)});
    }
    return {std::move(entries), shown(cursor.file().path())};
  } catch (const std::bad_alloc&) {
    cursor.refuse(ErrorCode::kNoMemory, "the metadata does not fit in memory");
  }
}

}  // namespace lockstep::gguf
