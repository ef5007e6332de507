#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "info.h"
#include "model_memory.h"

namespace lockstep {
namespace {

constexpr size_t kMostTextBytes = 60;
constexpr size_t kMostItems = 6;
constexpr size_t kWidestName = 48;

template <typename... Args>
void add(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// "93.8 MiB"
std::string human_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string human_bytes(uint64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

template <typename T>
std::string item_text(const T& item) {
  if constexpr (std::is_same_v<T, std::string>) {
    return fmt::format("\"{}\"", printable(item, kMostTextBytes));
  } else {
    return fmt::format("{}", item);
  }
}

std::string array_text(const gguf::ArrayValue& array) {
  return std::visit(
      []<typename T>(const std::vector<T>& items) {
        const size_t shown = std::min(items.size(), kMostItems);
        std::string text = fmt::format("{} x [", items.size());
        for (size_t i = 0; i < shown; ++i) {
          text += (i > 0 ? ", " : "") + item_text(static_cast<const T&>(items[i]));
          if (text.size() > 2 * kMostTextBytes) return text + ", ...]";
        }
        return text + (shown < items.size() ? ", ...]" : "]");
      },
      array);
}

std::string value_text(const gguf::Value& value) {
  return std::visit(
      []<typename T>(const T& content) {
        if constexpr (std::is_same_v<T, gguf::ArrayValue>) {
          return array_text(content);
        } else {
          return item_text(content);
        }
      },
      value);
}

void add_header(std::string& out, const gguf::ModelFile& model) {
  for (uint32_t i = 0; i < model.n_shards(); ++i) {
    const File& file = model.file(i);
    add(out, "{}: {} ({} bytes), data from byte {}\n", printable(file.path().native(), 200), human_bytes(file.size()),
        file.size(), model.data_start(i));
  }
  add(out, "GGUF version {}, little-endian\n", model.version());
}

void add_metadata(std::string& out, const gguf::Metadata& metadata) {
  size_t width = 0;
  for (const auto& entry : metadata.entries()) width = std::max(width, printable(entry.key).size());
  width = std::min(width, kWidestName);
  add(out, "\nMetadata, {} keys\n", metadata.entries().size());
  for (const auto& entry : metadata.entries()) {
    add(out, "  {:{}}  {:13}  {}\n", printable(entry.key), width, gguf::type_name(entry.value),
        value_text(entry.value));
  }
}

std::string shape_text(const gguf::TensorInfo& tensor) {
  std::string text;
  for (uint32_t i = 0; i < tensor.n_dims; ++i) text += fmt::format("{}{}", i > 0 ? " x " : "", tensor.shape[i]);
  return text;
}

void add_tensors(std::string& out, const gguf::ModelFile& model) {
  const bool split = model.n_shards() > 1;
  size_t width = 4;
  for (const auto& tensor : model.tensors()) width = std::max(width, printable(tensor.name).size());
  width = std::min(width, kWidestName);
  add(out, "\nTensors, {}\n", model.tensors().size());
  if (model.tensors().empty()) return;
  add(out, "  {:{}}  {:8}  {:>20}  {:>14}  {:>14}{}\n", "name", width, "type", "shape", "bytes", "offset",
      split ? "  shard" : "");
  for (const auto& tensor : model.tensors()) {
    add(out, "  {:{}}  {:8}  {:>20}  {:>14}  {:>14}", printable(tensor.name), width, quant::to_string(tensor.type),
        shape_text(tensor), tensor.bytes, tensor.offset);
    if (split) add(out, "  {:>5}", tensor.shard);
    out += '\n';
  }
}

void add_sizes(std::string& out, const ModelMemory& memory) {
  add(out, "\nSizes by type\n");
  for (const auto& [name, bytes] : memory.by_type)
    add(out, "  {:8}  {:>14}  {:>10}\n", name, bytes, human_bytes(bytes));
  add(out, "  {:8}  {:>14}  {:>10}  {} parameters", "all", memory.weights, human_bytes(memory.weights),
      memory.n_parameters);
  if (memory.n_parameters > 0) {
    add(out, ", {:.2f} bits each", static_cast<double>(memory.weights) * 8 / static_cast<double>(memory.n_parameters));
  }
  out += '\n';
  if (memory.per_token) {
    add(out, "  {:8}  {:>14}  {:>10}  {} parameters: with the experts that a token uses\n", "a token",
        memory.per_token->bytes, human_bytes(memory.per_token->bytes), memory.per_token->n_parameters);
  }
}

void add_windows(std::string& out, const ModelMemory& memory) {
  const ModelMemory::Windows& windows = *memory.windows;
  const KvBytes beyond = kv_bytes(*memory.kv_elements_per_token - windows.kv_elements_per_token);
  add(out,
      "  {} layers look back {} tokens and keep at most {}, besides the windows before the last turns' beginnings;\n",
      windows.n_layers, windows.n_tokens, windows.most_tokens);
  add(out, "  every further token takes {} in f16\n", human_bytes(static_cast<double>(beyond.f16)));
}

void add_memory(std::string& out, const ModelMemory& memory) {
  add(out, "\nKV cache per token\n");
  if (memory.kv_elements_per_token) {
    constexpr uint64_t kTokens = 4096;
    const KvBytes one = kv_bytes(*memory.kv_elements_per_token);
    const KvBytes all = kv_bytes(kv_elements(memory, kTokens));
    const auto line = [&](std::string_view name, auto per_token, auto of_all) {
      add(out, "  {:8}  {:>14}  {:>10}  {} for {} tokens\n", name, per_token,
          human_bytes(static_cast<double>(per_token)), human_bytes(static_cast<double>(of_all)), kTokens);
    };
    line("f16", one.f16, all.f16);
    line("f32", one.f32, all.f32);
    line("q8_0", one.q8_0, all.q8_0);
    if (memory.windows) add_windows(out, memory);
  } else {
    add(out, "  unknown: the file does not give layers, heads and head size\n");
  }
  add(out, "\nThe same model with all its matrices in\n");
  for (const auto& [name, bytes] : memory.if_all) add(out, "  {:8}  {:>14}  {:>10}\n", name, bytes, human_bytes(bytes));
}

}  // namespace

std::string info_text(const gguf::ModelFile& model, const std::string& more) {
  std::string text;
  add_header(text, model);
  add_metadata(text, model.metadata());
  add_tensors(text, model);
  text += more;
  const ModelMemory memory = measure_memory(model);
  add_sizes(text, memory);
  add_memory(text, memory);
  return text;
}

}  // namespace lockstep
