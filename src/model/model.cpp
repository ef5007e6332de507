#include "model/model.h"

#include "kernels/select.h"

namespace lockstep::model {

Model load_model(const gguf::ModelFile& file, int64_t n_vocab, const ModelOptions& options, exec::Team& team) {
  const kernels::KernelTable& kernels = kernels::select_table(options.isa);
  const Config config = load_config(file.metadata(), n_vocab);
  Weights weights = load_weights(file, config, kernels.packed, team, options.progress);
  RopeTable rope(config.rope, weights.rope_factors);
  return {config, std::move(weights), std::move(rope), &kernels, options.compute, options.cache_type};
}

exec::KvCache::Shape cache_shape(const Model& model, int64_t max_positions) {
  const int64_t element_bytes = model.cache_type == kernels::CacheType::kF16 ? 2 : 4;
  return {model.config.n_layers, model.config.n_kv_heads, model.config.head_dim, element_bytes, max_positions};
}

}  // namespace lockstep::model
