// For fuzz targets only: every look-up that metadata has, on every key it has.
#pragma once

#include <string>

#include "fuzz/fuzz_input.h"
#include "gguf/metadata.h"

namespace lockstep::fuzz {

template <typename T>
void look_up_array(const gguf::Metadata& metadata, const std::string& key) {
  (void)accepts([&] {
    const auto* array = metadata.find_array<T>(key);
    require(array != nullptr, "a key that is there has an array or is refused");
    for (const auto& item : *array) (void)item;
  });
}

inline void look_up_everything(const gguf::Metadata& metadata) {
  for (const gguf::Metadata::Entry& entry : metadata.entries()) {
    const std::string& key = entry.key;
    require(metadata.find(key) == &entry.value, "a key is found where it stands");
    (void)accepts([&] { (void)metadata.get_uint(key); });
    (void)accepts([&] { (void)metadata.get_float(key); });
    (void)accepts([&] { (void)metadata.find_bool(key); });
    (void)accepts([&] { (void)metadata.get_string(key); });
    (void)accepts([&] { (void)metadata.find_uint_list(key); });
    look_up_array<std::string>(metadata, key);
    look_up_array<float>(metadata, key);
    look_up_array<int32_t>(metadata, key);
    look_up_array<uint32_t>(metadata, key);
    look_up_array<uint8_t>(metadata, key);
    require(!gguf::type_name(entry.value).empty(), "a value has a type");
  }
}

}  // namespace lockstep::fuzz
