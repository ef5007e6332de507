#include "campaign/file_fields.h"

#include <cstring>

namespace lockstep::campaign {
namespace {

constexpr uint32_t kString = 8, kArray = 9;
constexpr uint64_t kMostItems = 64;

class Walk {
 public:
  explicit Walk(std::string_view file) : file_(file) {}

  FileFields run() && {
    (void)number<uint32_t>(FieldKind::kValue);  // magic
    (void)number<uint32_t>(FieldKind::kType);   // version
    const auto n_tensors = number<uint64_t>(FieldKind::kCount);
    const auto n_keys = number<uint64_t>(FieldKind::kCount);
    for (uint64_t i = 0; i < n_keys; ++i) key_value();
    fields_.keys_end = at_;
    for (uint64_t i = 0; i < n_tensors; ++i) tensor();
    fields_.data_start = (at_ + fields_.alignment - 1) / fields_.alignment * fields_.alignment;
    return std::move(fields_);
  }

 private:
  void add(FieldKind kind, uint64_t bytes) {
    if (listed_) fields_.by_kind[static_cast<size_t>(kind)].push_back({kind, at_, bytes});
  }
  template <typename T>
  T number(FieldKind kind) {
    T value;
    std::memcpy(&value, file_.data() + at_, sizeof(T));
    add(kind, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string_view text(FieldKind kind) {
    const auto length = number<uint64_t>(FieldKind::kLength);
    const std::string_view value = file_.substr(at_, length);
    if (length > 0) add(kind, length);
    at_ += length;
    return value;
  }

  static uint64_t bytes_of(uint32_t type) {
    constexpr std::array<uint64_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return kBytes.at(type);
  }

  void key_value() {
    const std::string_view key = text(FieldKind::kName);
    const auto type = number<uint32_t>(FieldKind::kType);
    fields_.keys.push_back({std::string(key), at_ - sizeof(type) - key.size(), at_});
    if (key == "general.alignment") std::memcpy(&fields_.alignment, file_.data() + at_, sizeof(fields_.alignment));
    if (key == "general.architecture") {
      uint64_t length;
      std::memcpy(&length, file_.data() + at_, sizeof(length));
      fields_.architecture = file_.substr(at_ + sizeof(length), length);
    }
    value(type, key.ends_with("_token_id") ? FieldKind::kId : FieldKind::kValue);
  }

  void value(uint32_t type, FieldKind kind) {
    if (type == kArray) return array();
    if (type == kString) {
      (void)text(kind);
      return;
    }
    add(kind, bytes_of(type));
    at_ += bytes_of(type);
  }

  void array() {
    const auto type = number<uint32_t>(FieldKind::kType);
    const auto count = number<uint64_t>(FieldKind::kCount);
    const uint64_t step = 1 + count / kMostItems;
    for (uint64_t i = 0; i < count; ++i) {
      listed_ = i % step == 0;
      value(type, FieldKind::kValue);
    }
    listed_ = true;
  }

  void tensor() {
    TensorEntry entry = {};
    entry.name = text(FieldKind::kName);
    entry.name_at = at_ - entry.name.size();
    entry.n_dims_at = at_;
    const auto n_dims = number<uint32_t>(FieldKind::kCount);
    for (uint32_t i = 0; i < n_dims; ++i) (void)number<uint64_t>(FieldKind::kDimension);
    entry.type_at = at_;
    (void)number<uint32_t>(FieldKind::kType);
    entry.offset_at = at_;
    (void)number<uint64_t>(FieldKind::kOffset);
    fields_.tensors.push_back(std::move(entry));
  }

  std::string_view file_;
  uint64_t at_ = 0;
  bool listed_ = true;
  FileFields fields_;
};

}  // namespace

std::string_view to_string(FieldKind kind) {
  constexpr std::array<std::string_view, kFieldKinds> kNames = {"length", "count", "type", "dimension",
                                                                "offset", "id",    "name", "value"};
  return kNames[static_cast<size_t>(kind)];
}

FileFields fields_of(std::string_view file) {
  return Walk(file).run();
}

}  // namespace lockstep::campaign
