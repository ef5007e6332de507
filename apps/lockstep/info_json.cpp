#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/utf8.h"
#include "chat/json_fields.h"
#include "info.h"
#include "model_memory.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostItems = 16;

template <typename T>
Json scalar(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return utf8_sanitize(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value) ? Json(double{value}) : Json();
  } else {
    return value;
  }
}

template <typename T>
Json list(const std::vector<T>& items, size_t count) {
  Json result = Json::array();
  for (size_t i = 0; i < count; ++i) result.push_back(scalar(static_cast<const T&>(items[i])));
  return result;
}

Json array(const gguf::Value& value, bool full) {
  return std::visit(
      [&](const auto& items) -> Json {
        if (full || items.size() <= kMostItems) return list(items, items.size());
        return {{"type", gguf::type_name(value)}, {"count", items.size()}, {"first", list(items, kMostItems)}};
      },
      std::get<gguf::ArrayValue>(value));
}

Json value_json(const gguf::Value& value, bool full) {
  return std::visit(
      [&]<typename T>(const T& content) -> Json {
        if constexpr (std::is_same_v<T, gguf::ArrayValue>) {
          return array(value, full);
        } else {
          return scalar(content);
        }
      },
      value);
}

Json tensor_json(const gguf::TensorInfo& tensor, bool split) {
  Json result = {{"name", utf8_sanitize(tensor.name)},
                 {"type", quant::to_string(tensor.type)},
                 {"shape", Json(std::vector<uint64_t>(tensor.shape.begin(), tensor.shape.begin() + tensor.n_dims))},
                 {"offset", tensor.offset},
                 {"bytes", tensor.bytes}};
  if (split) result["shard"] = tensor.shard;
  return result;
}

Json sizes_json(const std::vector<std::pair<std::string_view, uint64_t>>& sizes) {
  Json result = Json::object();
  for (const auto& [name, bytes] : sizes) result[std::string(name)] = bytes;
  return result;
}

Json kv_json(uint64_t elements) {
  const KvBytes bytes = kv_bytes(elements);
  const auto whole = static_cast<uint64_t>(bytes.q8_0);
  const bool is_whole = static_cast<double>(whole) == bytes.q8_0;
  return {{"f16", bytes.f16}, {"f32", bytes.f32}, {"q8_0", is_whole ? Json(whole) : Json(bytes.q8_0)}};
}

Json memory_json(const ModelMemory& memory) {
  Json result = {{"weights", memory.weights}};
  result["kv_per_token"] = memory.kv_elements_per_token ? kv_json(*memory.kv_elements_per_token) : Json();
  if (memory.windows) {
    result["windows"] = {{"tokens", memory.windows->n_tokens},
                         {"layers", memory.windows->n_layers},
                         {"kv_per_token", kv_json(memory.windows->kv_elements_per_token)},
                         {"most_tokens", memory.windows->most_tokens}};
  }
  result["if_all"] = sizes_json(memory.if_all);
  return result;
}

Json shards_json(const gguf::ModelFile& model) {
  Json result = Json::array();
  for (uint32_t i = 0; i < model.n_shards(); ++i) {
    result.push_back({{"path", utf8_sanitize(model.file(i).path().native())}, {"data_start", model.data_start(i)}});
  }
  return result;
}

}  // namespace

Json info_json(const gguf::ModelFile& model, bool full) {
  chat::JsonFields metadata, types;  // a file may have a million
  for (const gguf::Metadata::Entry& entry : model.metadata().entries()) {
    const std::string key = utf8_sanitize(entry.key);
    metadata.add(key, value_json(entry.value, full));
    types.add(key, gguf::type_name(entry.value));
  }
  const bool split = model.n_shards() > 1;
  Json tensors = Json::array();
  for (const gguf::TensorInfo& tensor : model.tensors()) tensors.push_back(tensor_json(tensor, split));
  const ModelMemory memory = measure_memory(model);

  Json result = {{"version", model.version()}, {"endian", "little"}, {"data_start", model.data_start()}};
  if (split) result["shards"] = shards_json(model);
  result["metadata"] = metadata.take();
  result["types"] = types.take();
  result["tensors"] = std::move(tensors);
  result["totals"] = {{"tensors", model.tensors().size()},
                      {"parameters", memory.n_parameters},
                      {"bytes", memory.weights},
                      {"by_type", sizes_json(memory.by_type)}};
  result["memory"] = memory_json(memory);
  return result;
}

}  // namespace lockstep
