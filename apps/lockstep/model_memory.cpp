#include "model_memory.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "base/error.h"
#include "engine/engine.h"
#include "model/model.h"

namespace lockstep {
namespace {

constexpr auto kComparedTypes = {quant::TensorType::kF32, quant::TensorType::kF16, quant::TensorType::kQ8_0,
                                 quant::TensorType::kQ4_0};

// KV heads of all layers together. As llama.cpp has it, head_count_kv defaults to head_count.
std::optional<uint64_t> kv_heads(const gguf::Metadata& metadata, const std::string& prefix) {
  const auto n_layers = metadata.find_uint(prefix + "block_count");
  std::string key = prefix + "attention.head_count_kv";
  if (metadata.find(key) == nullptr) key = prefix + "attention.head_count";
  const auto heads = metadata.find_uint_list(key);
  if (!n_layers || !heads) return std::nullopt;
  if (!std::holds_alternative<gguf::ArrayValue>(*metadata.find(key))) return checked_mul(*n_layers, heads->front());
  if (heads->size() != *n_layers) return std::nullopt;
  std::optional<uint64_t> sum = 0;
  for (const uint64_t n : *heads) {
    if (sum) sum = checked_add(*sum, n);
  }
  return sum;
}

// key_length or value_length; embedding_length / head_count when absent.
std::optional<uint64_t> head_length(const gguf::Metadata& metadata, const std::string& prefix, std::string_view which) {
  if (const auto length = metadata.find_uint(fmt::format("{}attention.{}", prefix, which))) return length;
  const auto width = metadata.find_uint(prefix + "embedding_length");
  const auto heads = metadata.find_uint_list(prefix + "attention.head_count");
  if (!width || !heads || heads->empty() || heads->front() == 0) return std::nullopt;
  return *width / heads->front();
}

// Everything but the experts that a token is not sent to.
std::optional<ModelMemory::Share> share_per_token(const gguf::ModelFile& model) {
  try {
    const std::string* architecture = model.metadata().find_string("general.architecture");
    if (architecture == nullptr) return std::nullopt;
    const uint64_t n = model.metadata().find_uint(*architecture + ".expert_count").value_or(0);
    const uint64_t n_used = model.metadata().find_uint(*architecture + ".expert_used_count").value_or(0);
    if (n_used == 0 || n_used > n) return std::nullopt;
    ModelMemory::Share share = {0, 0};
    for (const gguf::TensorInfo& tensor : model.tensors()) {
      const bool is_experts = tensor.n_dims == 3 && tensor.shape[2] == n && tensor.name.ends_with("_exps.weight");
      share.n_parameters += is_experts ? tensor.n_elements() / n * n_used : tensor.n_elements();
      share.bytes += is_experts ? tensor.bytes / n * n_used : tensor.bytes;
    }
    return share;
  } catch (const Error&) {
    return std::nullopt;  // as below
  }
}

// As the model floor reads the file; nothing where it refuses to.
std::optional<ModelMemory::Windows> windows_of(const gguf::ModelFile& file) {
  try {
    const gguf::TensorInfo* embedding = file.find("token_embd.weight");
    if (embedding == nullptr) return std::nullopt;
    const model::Config c = model::load_config(file.metadata(), static_cast<int64_t>(embedding->shape[1]));
    const int64_t n_layers = std::ranges::count(c.windowed_layers, true);
    if (c.window == 0 || n_layers == 0) return std::nullopt;
    const auto elements = static_cast<uint64_t>(n_layers * 2 * c.kv_width());
    const int64_t batch = engine::EngineOptions{}.batch_size;  // which is also what a session can be cut back by
    return ModelMemory::Windows{c.window, n_layers, elements,
                                exec::KvCache::most_window_positions(c.window, batch, batch)};
  } catch (const Error&) {
    return std::nullopt;  // as below
  }
}

}  // namespace

KvBytes kv_bytes(uint64_t elements) {
  return {elements * 2, elements * 4, static_cast<double>(elements) * 34.0 / 32.0};
}

uint64_t kv_elements(const ModelMemory& memory, uint64_t n_tokens) {
  const uint64_t of_all = memory.kv_elements_per_token.value_or(0);
  if (!memory.windows) return of_all * n_tokens;
  const uint64_t of_windows = memory.windows->kv_elements_per_token;
  return (of_all - of_windows) * n_tokens +
         of_windows * std::min(n_tokens, static_cast<uint64_t>(memory.windows->most_tokens));
}

std::optional<uint64_t> kv_elements_per_token(const gguf::Metadata& metadata) {
  try {
    const std::string* architecture = metadata.find_string("general.architecture");
    if (architecture == nullptr) return std::nullopt;
    const std::string prefix = *architecture + ".";
    const auto heads = kv_heads(metadata, prefix);
    const auto key = head_length(metadata, prefix, "key_length");
    const auto value = head_length(metadata, prefix, "value_length");
    if (!heads || !key || !value) return std::nullopt;
    const auto both = checked_add(*key, *value);
    const auto elements = both ? checked_mul(*heads, *both) : std::nullopt;
    return elements && checked_mul(*elements, 4) ? elements : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // info shows a file whose keys the model floor would refuse
  }
}

uint64_t bytes_if_all(const gguf::ModelFile& model, quant::TensorType type) {
  const quant::FormatInfo& format = quant::format_info(type);
  uint64_t bytes = 0;
  for (const gguf::TensorInfo& tensor : model.tensors()) {
    const bool is_matrix = tensor.n_dims == 2 || tensor.n_dims == 3;
    const bool converts = is_matrix && tensor.shape[0] % format.block_size == 0;
    bytes += converts ? tensor.n_elements() / format.block_size * format.block_bytes : tensor.bytes;
  }
  return bytes;
}

ModelMemory measure_memory(const gguf::ModelFile& model) {
  ModelMemory memory;
  for (const gguf::TensorInfo& tensor : model.tensors()) {
    memory.n_parameters += tensor.n_elements();
    memory.weights += tensor.bytes;
    const std::string_view name = quant::to_string(tensor.type);
    auto place = std::ranges::find_if(memory.by_type, [&](const auto& entry) { return entry.first == name; });
    if (place == memory.by_type.end()) place = memory.by_type.emplace(place, name, 0);
    place->second += tensor.bytes;
  }
  memory.per_token = share_per_token(model);
  memory.kv_elements_per_token = kv_elements_per_token(model.metadata());
  if (memory.kv_elements_per_token) memory.windows = windows_of(model);
  for (const quant::TensorType type : kComparedTypes) {
    memory.if_all.emplace_back(quant::to_string(type), bytes_if_all(model, type));
  }
  return memory;
}

}  // namespace lockstep
