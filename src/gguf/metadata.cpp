#include "gguf/metadata.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace lockstep::gguf {
namespace {

constexpr auto kArrayIndex = static_cast<size_t>(ValueType::kArray);
static_assert(std::is_same_v<std::variant_alternative_t<kArrayIndex, Value>, ArrayValue>);
static_assert(std::variant_size_v<Value> == 13 && std::variant_size_v<ArrayValue> == 12);

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// The number as u64; nothing for a negative one.
template <typename T>
std::optional<uint64_t> as_unsigned(T number) {
  return checked_cast<uint64_t>(number);
}

template <typename T>
std::string array_name() {
  return type_name(Value(ArrayValue(std::vector<T>())));
}

uint32_t hash_of(std::string_view key) {
  return static_cast<uint32_t>(std::hash<std::string_view>()(key));
}

uint64_t mark_of(uint32_t hash, size_t index) {
  return uint64_t{hash} << 32 | static_cast<uint32_t>(index);
}

size_t index_of(uint64_t mark) {
  return static_cast<uint32_t>(mark);
}

}  // namespace

std::string_view to_string(ValueType type) {
  constexpr std::array<std::string_view, 13> kNames = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                       "bool", "string", "array", "u64", "i64", "f64"};
  const auto number = static_cast<size_t>(type);
  return number < kNames.size() ? kNames[number] : "unknown";
}

ValueType type_of(const Value& value) {
  return static_cast<ValueType>(value.index());
}

ValueType element_type_of(const ArrayValue& value) {
  const size_t index = value.index();
  return static_cast<ValueType>(index < kArrayIndex ? index : index + 1);  // ArrayValue has no array alternative
}

std::string type_name(const Value& value) {
  if (const auto* array = std::get_if<ArrayValue>(&value)) {
    return fmt::format("array<{}>", to_string(element_type_of(*array)));
  }
  return std::string(to_string(type_of(value)));
}

size_t size_of(const ArrayValue& value) {
  return std::visit([](const auto& items) { return items.size(); }, value);
}

Metadata::Metadata(std::vector<Entry> entries, std::string source)
    : entries_(std::move(entries)), marks_(entries_.size()), source_(std::move(source)) {
  for (size_t i = 0; i < marks_.size(); ++i) marks_[i] = mark_of(hash_of(entries_[i].key), i);
  const auto key_of = [this](uint64_t mark) -> const std::string& { return entries_[index_of(mark)].key; };
  std::sort(marks_.begin(), marks_.end(), [&](uint64_t a, uint64_t b) {
    if ((a >> 32) != (b >> 32)) return a < b;
    return key_of(a) < key_of(b);
  });
  const auto twice = std::adjacent_find(marks_.begin(), marks_.end(), [&](uint64_t a, uint64_t b) {
    return (a >> 32) == (b >> 32) && key_of(a) == key_of(b);
  });
  if (twice != marks_.end()) fail(ErrorCode::kBadFile, "{}: the key is there twice", place_of(key_of(*twice)));
}

bool Metadata::add(std::string key, Value value) {
  const auto place = lower_bound(key);
  if (place != marks_.end() && entries_[index_of(*place)].key == key) return false;
  marks_.insert(place, mark_of(hash_of(key), entries_.size()));
  entries_.push_back(Entry{std::move(key), std::move(value)});
  return true;
}

bool Metadata::before(uint64_t mark, uint32_t hash, std::string_view key) const {
  const auto mark_hash = static_cast<uint32_t>(mark >> 32);
  return mark_hash != hash ? mark_hash < hash : entries_[index_of(mark)].key < key;
}

std::vector<uint64_t>::const_iterator Metadata::lower_bound(std::string_view key) const {
  const uint32_t hash = hash_of(key);
  return std::partition_point(marks_.begin(), marks_.end(), [&](uint64_t mark) { return before(mark, hash, key); });
}

const Value* Metadata::find(std::string_view key) const {
  const auto place = lower_bound(key);
  if (place == marks_.end()) return nullptr;
  const Entry& entry = entries_[index_of(*place)];
  return entry.key == key ? &entry.value : nullptr;
}

std::string Metadata::place_of(std::string_view key) const {
  return fmt::format("{}{}key \"{}\"", source_, source_.empty() ? "" : ": ", printable(key));
}

void Metadata::missing(std::string_view key, std::string_view wanted) const {
  fail(ErrorCode::kNotFound, "{}: missing, wanted {}", place_of(key), wanted);
}

void Metadata::wrong_type(std::string_view key, std::string_view wanted, const Value& found) const {
  fail(ErrorCode::kBadFile, "{}: found {}, wanted {}", place_of(key), type_name(found), wanted);
}

std::optional<uint64_t> Metadata::find_uint(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  return std::visit(
      [&]<typename T>(const T& number) -> uint64_t {
        if constexpr (kIsInteger<T>) {
          if (const auto result = as_unsigned(number)) return *result;
          fail(ErrorCode::kBadFile, "{}: found {}, wanted an integer >= 0", place_of(key), number);
        } else {
          wrong_type(key, "an integer", *value);
        }
      },
      *value);
}

uint64_t Metadata::get_uint(std::string_view key) const {
  const auto number = find_uint(key);
  if (!number) missing(key, "an integer");
  return *number;
}

std::optional<float> Metadata::find_float(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<float>(value)) return *number;
  const auto* number = std::get_if<double>(value);
  if (number == nullptr) wrong_type(key, "f32", *value);
  // The conversion of a finite double beyond float's range is undefined in C++.
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (*number > kLargest || *number < -kLargest) {
    fail(ErrorCode::kBadFile, "{}: found {}, wanted a number in the range of f32", place_of(key), *number);
  }
  return static_cast<float>(*number);
}

float Metadata::get_float(std::string_view key) const {
  const auto number = find_float(key);
  if (!number) missing(key, "f32");
  return *number;
}

std::optional<bool> Metadata::find_bool(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* result = std::get_if<bool>(value);
  if (result == nullptr) wrong_type(key, "bool", *value);
  return *result;
}

const std::string* Metadata::find_string(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return nullptr;
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) wrong_type(key, "string", *value);
  return text;
}

const std::string& Metadata::get_string(std::string_view key) const {
  const std::string* text = find_string(key);
  if (text == nullptr) missing(key, "string");
  return *text;
}

template <typename T>
const std::vector<T>* Metadata::find_array(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return nullptr;
  const auto* array = std::get_if<ArrayValue>(value);
  const auto* items = array != nullptr ? std::get_if<std::vector<T>>(array) : nullptr;
  if (items == nullptr) wrong_type(key, array_name<T>(), *value);
  return items;
}

template const std::vector<uint8_t>* Metadata::find_array(std::string_view) const;
template const std::vector<int8_t>* Metadata::find_array(std::string_view) const;
template const std::vector<uint16_t>* Metadata::find_array(std::string_view) const;
template const std::vector<int16_t>* Metadata::find_array(std::string_view) const;
template const std::vector<uint32_t>* Metadata::find_array(std::string_view) const;
template const std::vector<int32_t>* Metadata::find_array(std::string_view) const;
template const std::vector<float>* Metadata::find_array(std::string_view) const;
template const std::vector<bool>* Metadata::find_array(std::string_view) const;
template const std::vector<std::string>* Metadata::find_array(std::string_view) const;
template const std::vector<uint64_t>* Metadata::find_array(std::string_view) const;
template const std::vector<int64_t>* Metadata::find_array(std::string_view) const;
template const std::vector<double>* Metadata::find_array(std::string_view) const;

std::optional<std::vector<uint64_t>> Metadata::find_uint_list(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* array = std::get_if<ArrayValue>(value);
  if (array == nullptr) return std::vector<uint64_t>{get_uint(key)};
  return std::visit(
      [&]<typename T>(const std::vector<T>& items) -> std::vector<uint64_t> {
        if constexpr (kIsInteger<T>) {
          std::vector<uint64_t> numbers;
          numbers.reserve(items.size());
          for (size_t i = 0; i < items.size(); ++i) {
            const auto number = as_unsigned(items[i]);
            if (!number) {
              fail(ErrorCode::kBadFile, "{}: item {}: found {}, wanted an integer >= 0", place_of(key), i, items[i]);
            }
            numbers.push_back(*number);
          }
          return numbers;
        } else {
          wrong_type(key, "an integer or an array of integers", *value);
        }
      },
      *array);
}

}  // namespace lockstep::gguf
