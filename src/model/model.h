// A loaded model: configuration, weights, rotation table and the kernels that compute with them. Immutable, shared by
// all threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "exec/kv_cache.h"
#include "exec/team.h"
#include "gguf/model_file.h"
#include "kernels/start_check.h"
#include "kernels/table.h"
#include "model/config.h"
#include "model/rope.h"
#include "model/weights.h"

namespace lockstep::model {

// How products are computed (NUMERICS.md section 2): int8 activations, or weights dequantized exactly and fp32
// activations.
enum class Compute { kFast, kExact };
[[nodiscard]] std::string_view to_string(Compute compute);  // "fast", "exact"

struct Model {
  Config config;
  Weights weights;
  RopeTable rope;
  RopeTable local_rope;  // of windowed layers
  const kernels::KernelTable* kernels;
  Compute compute;
  kernels::CacheType cache_type;
  // What the self-test at loading found; `kernels` is its table when something had to be replaced.
  std::shared_ptr<const kernels::StartCheck> start_check = nullptr;

  // The product of this model's compute mode for a weight type.
  [[nodiscard]] auto product(quant::TensorType type) const noexcept {
    const auto& by_type = compute == Compute::kFast ? kernels->fast : kernels->exact;
    return by_type[static_cast<int>(type)];
  }
};

struct ModelOptions {
  std::string isa = "auto";  // the kernel set: the best that this CPU has, or one by name
  Compute compute = Compute::kFast;
  kernels::CacheType cache_type = kernels::CacheType::kF16;
  Progress progress;                            // of reading the weights
  int64_t ctx_size = 0;                         // tokens of context; 0: what the model was trained for
  const kernels::KernelTable* table = nullptr;  // instead of the set that `isa` names: for self-checks and tests
};

// Configuration and weights of a file with a vocabulary of n_vocab tokens, read by the team. Errors: those of
// load_config, load_weights and kernels::select_table.
[[nodiscard]] Model load_model(const gguf::ModelFile& file, int64_t n_vocab, const ModelOptions& options,
                               exec::Team& team);

// "f16", "f32" or "q8_0".
[[nodiscard]] std::string_view cache_type_name(const Model& model);

// The kernels on some rows of every type of weights that the file has (kernels/start_check.h), without loading it.
[[nodiscard]] kernels::StartCheck check_kernels(const gguf::ModelFile& file, const kernels::KernelTable& table,
                                                kernels::CacheType cache_type, kernels::CheckedModes modes = {});

// How many tokens a timeline with windowed layers can surely be cut back.
constexpr int64_t kCutMargin = 512;
[[nodiscard]] exec::KvCache::Shape cache_shape(const Model& model, int64_t max_positions, int64_t margin = kCutMargin);

}  // namespace lockstep::model
