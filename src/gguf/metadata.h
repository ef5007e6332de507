// The key/value part of a GGUF file with typed look-ups. Source: the GGUF specification (ggml docs/gguf.md), version 3.
// Immutable after loading; safe to read from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockstep::gguf {

// The value types and their numbers in the file.
enum class ValueType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// "u32", "string", ... as `info --json` prints them.
std::string_view to_string(ValueType type);

// An array value: one vector of the element type. Booleans are one byte each. Nested arrays are refused by the reader.
using ArrayValue =
    std::variant<std::vector<uint8_t>, std::vector<int8_t>, std::vector<uint16_t>, std::vector<int16_t>,
                 std::vector<uint32_t>, std::vector<int32_t>, std::vector<float>, std::vector<bool>,
                 std::vector<std::string>, std::vector<uint64_t>, std::vector<int64_t>, std::vector<double>>;
// The alternatives stand in the order of ValueType's numbers.
using Value = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string, ArrayValue,
                           uint64_t, int64_t, double>;

// The type of a value; for an array also that of its elements ("array<string>").
ValueType type_of(const Value& value);
ValueType element_type_of(const ArrayValue& value);
std::string type_name(const Value& value);
size_t size_of(const ArrayValue& value);

class Metadata {
 public:
  struct Entry {
    std::string key;
    Value value;
  };

  Metadata() = default;
  // Takes all entries at once, in O(n log n) whatever the keys are. `source` (a file name) opens every error message.
  // Errors: kBadFile for a key that is there twice.
  Metadata(std::vector<Entry> entries, std::string source);

  // False when the key is there already. O(n): for values made by hand.
  bool add(std::string key, Value value);

  // In file order.
  [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }
  [[nodiscard]] const Value* find(std::string_view key) const;

  // Look-ups. A missing key gives nothing from find_*, and an error naming the key from get_*. A value of another type
  // is an error naming key, wanted and found type. Integers of any width and sign are accepted where the value fits the
  // range; floats are accepted as f32 or f64 (rounded).
  [[nodiscard]] std::optional<uint64_t> find_uint(std::string_view key) const;
  [[nodiscard]] uint64_t get_uint(std::string_view key) const;
  [[nodiscard]] std::optional<float> find_float(std::string_view key) const;
  [[nodiscard]] float get_float(std::string_view key) const;
  [[nodiscard]] std::optional<bool> find_bool(std::string_view key) const;
  [[nodiscard]] const std::string* find_string(std::string_view key) const;
  [[nodiscard]] const std::string& get_string(std::string_view key) const;
  // The array under `key` with elements of exactly type T; null when the key is missing.
  template <typename T>
  [[nodiscard]] const std::vector<T>* find_array(std::string_view key) const;
  // An integer array of any width as unsigned numbers (negative elements are an error); a scalar gives one element.
  [[nodiscard]] std::optional<std::vector<uint64_t>> find_uint_list(std::string_view key) const;

 private:
  [[nodiscard]] std::string place_of(std::string_view key) const;
  [[noreturn]] void missing(std::string_view key, std::string_view wanted) const;
  [[noreturn]] void wrong_type(std::string_view key, std::string_view wanted, const Value& found) const;
  [[nodiscard]] bool before(uint64_t mark, uint32_t hash, std::string_view key) const;
  [[nodiscard]] std::vector<uint64_t>::const_iterator lower_bound(std::string_view key) const;

  std::vector<Entry> entries_;
  // One mark per entry, hash << 32 | index, sorted by hash and, among equal hashes, by key: quick on honest files, and
  // no choice of keys makes it worse than O(n log n).
  std::vector<uint64_t> marks_;
  std::string source_;
};

}  // namespace lockstep::gguf
