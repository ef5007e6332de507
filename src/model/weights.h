// The tensors of a model in memory: found by name, checked against the shapes that the configuration asks for, read and
// scanned for scales that are not numbers. Immutable after loading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "gguf/model_file.h"
#include "kernels/table.h"
#include "model/config.h"
#include "model/tensor_loader.h"
#include "quant/format.h"

namespace lockstep::model {

// A matrix [n_rows, n_cols]: output[r] = sum over k of w[r, k] * input[k]; in GGUF's order ne = {n_cols, n_rows}.
struct Matrix {
  std::string name;
  quant::TensorType type;
  kernels::WeightMatrix data;
};

// A vector in fp32; empty when the model does not have it.
using Vector = std::vector<float>;

struct LayerWeights {
  Vector attn_norm;  // a family has those norms that it has (family.h); the others are empty
  Matrix q, k, v;
  Vector q_bias, k_bias, v_bias;
  Vector q_norm, k_norm;
  Matrix attn_output;
  Vector attn_post_norm;
  Vector ffn_norm;
  Matrix router;  // of experts; gate, up and down are then theirs, one below the other
  Matrix gate, up, down;
  Vector ffn_post_norm;
};

struct Weights {
  Matrix token_embd;
  std::vector<LayerWeights> layers;
  Vector output_norm;
  Matrix output;  // the same data as token_embd when the head is tied
  bool tied;
  Vector rope_factors;       // empty, or n_rot / 2 divisors
  Vector rope_factors_long;  // in their place for contexts beyond the original one
  Buffer storage;            // owns the bytes of all matrices
  std::string tree_hash;     // of the file they came from
};

// Errors (each names the tensor): kNotFound, kBadFile for a shape, kUnsupported for a type or a tensor that the
// architecture does not have (it would be ignored in silence), kNotFinite for a scale, kNoMemory. `packed`: matrices in
// the R16 layout.
[[nodiscard]] Weights load_weights(const gguf::ModelFile& file, const Config& config, bool packed, exec::Team& team,
                                   const Progress& progress = {});

}  // namespace lockstep::model
