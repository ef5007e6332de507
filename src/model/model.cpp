#include "model/model.h"

#include "base/error.h"
#include "kernels/select.h"

namespace lockstep::model {

std::string_view to_string(Compute compute) {
  return compute == Compute::kFast ? "fast" : "exact";
}

std::string_view cache_type_name(const Model& model) {
  return kernels::to_string(model.cache_type);
}

Model load_model(const gguf::ModelFile& file, int64_t n_vocab, const ModelOptions& options, exec::Team& team) {
  const kernels::KernelTable& kernels = kernels::select_table(options.isa);
  const Config config = load_config(file.metadata(), n_vocab);
  if (options.cache_type == kernels::CacheType::kQ8_0 && config.head_dim % kernels::kScaleGroup != 0) {
    fail(ErrorCode::kBadRequest, "kv-type q8_0: the head size {} is no multiple of {}; use f16 or f32", config.head_dim,
         kernels::kScaleGroup);
  }
  Weights weights = load_weights(file, config, kernels.packed, team, options.progress);
  const int64_t ctx_size = options.ctx_size == 0 ? config.context_length : options.ctx_size;
  const bool is_long = ctx_size > config.original_context && !weights.rope_factors_long.empty();
  RopeTable rope(config.rope, is_long ? weights.rope_factors_long : weights.rope_factors);
  RopeTable local_rope(config.local_rope, {});
  return {config,   std::move(weights), std::move(rope),   std::move(local_rope),
          &kernels, options.compute,    options.cache_type};
}

exec::KvCache::Shape cache_shape(const Model& model, int64_t max_positions) {
  const int64_t chunk_bytes = kernels::cache_chunk_bytes(model.cache_type, model.config.head_dim);
  return {model.config.n_layers, model.config.n_kv_heads, chunk_bytes, max_positions};
}

}  // namespace lockstep::model
