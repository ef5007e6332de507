// Look-ups of hyper-parameters: under the architecture's prefix, checked for their range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "gguf/metadata.h"

namespace lockstep::model {

// Generous upper bounds: they only keep products of two or three of these numbers far from 64 bits.
inline constexpr uint64_t kMaxLayers = 512;
inline constexpr uint64_t kMaxWidth = uint64_t{1} << 20;
inline constexpr uint64_t kMaxExperts = 1024;
inline constexpr uint64_t kMaxContext = uint64_t{1} << 30;

// Errors name the key: kBadFile for a value out of range, kNotFound, kUnsupported.
class ConfigKeys {
 public:
  ConfigKeys(const gguf::Metadata& metadata, std::string prefix) : metadata_(metadata), prefix_(std::move(prefix)) {}

  [[nodiscard]] std::string full(std::string_view name) const { return prefix_ + "." + std::string(name); }
  [[nodiscard]] const gguf::Metadata& metadata() const { return metadata_; }

  [[nodiscard]] int64_t checked(std::string_view name, uint64_t value, uint64_t low, uint64_t high) const {
    if (value < low || value > high)
      fail(ErrorCode::kBadFile, "{} is {}, expected {} to {}", full(name), value, low, high);
    return static_cast<int64_t>(value);
  }
  [[nodiscard]] int64_t required(std::string_view name, uint64_t high) const {
    return checked(name, metadata_.get_uint(full(name)), 1, high);
  }
  [[nodiscard]] int64_t optional(std::string_view name, int64_t absent, uint64_t high) const {
    const auto value = metadata_.find_uint(full(name));
    return value ? checked(name, *value, 1, high) : absent;
  }
  [[nodiscard]] float optional_float(std::string_view name, float absent) const {
    return metadata_.find_float(full(name)).value_or(absent);
  }
  // A number that may also be given per layer; the layers must agree.
  [[nodiscard]] int64_t uniform(std::string_view name, int64_t n_layers, std::optional<int64_t> absent,
                                uint64_t high) const {
    const auto values = metadata_.find_uint_list(full(name));
    if (!values) return absent ? *absent : required(name, high);
    const bool per_layer = std::holds_alternative<gguf::ArrayValue>(*metadata_.find(full(name)));
    if (per_layer && values->size() != static_cast<size_t>(n_layers)) {
      fail(ErrorCode::kBadFile, "{} has {} values, expected a number or {} values (one a layer)", full(name),
           values->size(), n_layers);
    }
    const uint64_t first = values->front();
    if (std::ranges::any_of(*values, [first](uint64_t v) { return v != first; })) {
      fail(ErrorCode::kUnsupported, "{} differs between layers, which is not supported", full(name));
    }
    return checked(name, first, 1, high);
  }

 private:
  const gguf::Metadata& metadata_;
  std::string prefix_;
};

}  // namespace lockstep::model
