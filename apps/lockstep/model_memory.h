// The memory arithmetic of `lockstep info`: what the weights and the KV cache of a model take, and would take.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/model_file.h"

namespace lockstep {

struct ModelMemory {
  uint64_t n_parameters = 0;
  uint64_t weights = 0;                                        // bytes of all tensors
  std::vector<std::pair<std::string_view, uint64_t>> by_type;  // type name -> bytes, in the order of first use
  // Of a mixture of experts: what one token goes through.
  struct Share {
    uint64_t n_parameters;
    uint64_t bytes;
  };
  std::optional<Share> per_token;
  std::optional<uint64_t> kv_elements_per_token;  // keys and values of all layers
  // Layers that keep the end of a timeline only.
  struct Windows {
    int64_t n_tokens;  // that a token attends to
    int64_t n_layers;
    uint64_t kv_elements_per_token;  // of these layers
    int64_t most_tokens;             // that they keep, in whole blocks, besides what the beginnings of turns need
  };
  std::optional<Windows> windows;
  std::vector<std::pair<std::string_view, uint64_t>> if_all;  // type name -> bytes_if_all
};

ModelMemory measure_memory(const gguf::ModelFile& model);

// Bytes per token of a KV cache of `elements`; Q8_0 keeps 32 elements in 34 bytes.
struct KvBytes {
  uint64_t f16;
  uint64_t f32;
  double q8_0;
};
KvBytes kv_bytes(uint64_t elements);

// Elements of a cache that holds `n_tokens`, without what the beginnings of turns need.
uint64_t kv_elements(const ModelMemory& memory, uint64_t n_tokens);

// Keys and values of one token over all layers: KV heads (one number, or one per layer) times key_length +
// value_length. Nothing when the keys are missing, of a wrong type or contradict each other, as in a vocabulary-only
// file.
std::optional<uint64_t> kv_elements_per_token(const gguf::Metadata& metadata);

// Bytes of the same model with every 2-D and 3-D tensor whose rows are whole blocks of `type` stored so, the rest as
// they are.
uint64_t bytes_if_all(const gguf::ModelFile& model, quant::TensorType type);

}  // namespace lockstep
