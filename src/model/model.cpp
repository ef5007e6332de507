#include "model/model.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/select.h"
#include "quant/dequantize.h"
#include "quant/format.h"

namespace lockstep::model {
namespace {

// Rows from the middle of a matrix, so that they are not those of rare tokens at its ends.
kernels::WeightSample sample_of(const gguf::ModelFile& file, const gguf::TensorInfo& tensor) {
  const uint64_t row_bytes = quant::row_bytes(tensor.type, tensor.shape[0]);
  const uint64_t block = quant::format_info(tensor.type).block_size;
  const uint64_t n_cols = std::min(tensor.shape[0], uint64_t{kernels::kSampleCols} / block * block);
  const uint64_t n_rows = std::min(tensor.shape[1], uint64_t{kernels::kSampleRows});
  const uint64_t first = (tensor.shape[1] - n_rows) / 2;
  const uint64_t sample_bytes = quant::row_bytes(tensor.type, n_cols);
  kernels::WeightSample sample = {tensor.type, static_cast<int64_t>(n_rows), static_cast<int64_t>(n_cols), {}};
  sample.rows.resize(n_rows * sample_bytes);
  for (uint64_t row = 0; row < n_rows; ++row) {
    file.read(tensor, (first + row) * row_bytes, std::span(sample.rows).subspan(row * sample_bytes, sample_bytes));
  }
  return sample;
}

// Of the first matrix of each type that is computed with.
std::vector<kernels::WeightSample> weight_samples(const gguf::ModelFile& file) {
  std::vector<kernels::WeightSample> samples;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    const auto is_known = [&](const kernels::WeightSample& sample) { return sample.type == tensor.type; };
    if (tensor.n_dims < 2 || tensor.shape[0] == 0 || tensor.shape[1] == 0) continue;
    if (!quant::format_info(tensor.type).supported || std::ranges::any_of(samples, is_known)) continue;
    kernels::WeightSample sample = sample_of(file, tensor);
    // Loading refuses a scale that is not finite; nothing is to be learned from what kernels make of one.
    const uint64_t n_blocks = sample.rows.size() / quant::format_info(tensor.type).block_bytes;
    if (quant::scales_are_finite(tensor.type, sample.rows.data(), n_blocks)) samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

std::string_view to_string(Compute compute) {
  return compute == Compute::kFast ? "fast" : "exact";
}

std::string_view cache_type_name(const Model& model) {
  return kernels::to_string(model.cache_type);
}

Model load_model(const gguf::ModelFile& file, int64_t n_vocab, const ModelOptions& options, exec::Team& team) {
  const kernels::KernelTable& kernels = options.table != nullptr ? *options.table : kernels::select_table(options.isa);
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
  const bool is_fast = options.compute == Compute::kFast;
  const bool calls_exact = !is_fast || config.has_experts();  // the router's products
  const auto check = std::make_shared<const kernels::StartCheck>(
      check_kernels(file, kernels, options.cache_type, {.fast = is_fast, .exact = calls_exact}));
  const kernels::KernelTable* chosen = check->ok() ? &kernels : &check->table;
  return {config, std::move(weights), std::move(rope),    std::move(local_rope),
          chosen, options.compute,    options.cache_type, check};
}

kernels::StartCheck check_kernels(const gguf::ModelFile& file, const kernels::KernelTable& table,
                                  kernels::CacheType cache_type, kernels::CheckedModes modes) {
  return kernels::start_check(table, cache_type, weight_samples(file), modes);
}

exec::KvCache::Shape cache_shape(const Model& model, int64_t max_positions, int64_t margin) {
  const Config& c = model.config;
  const int64_t chunk_bytes = kernels::cache_chunk_bytes(model.cache_type, c.head_dim);
  exec::KvCache::Shape shape = {c.n_layers, c.n_kv_heads, chunk_bytes, max_positions};
  if (c.window == 0) return shape;
  for (int64_t layer = 0; layer < c.n_layers; ++layer) shape.windowed.push_back(c.is_windowed(layer));
  shape.window = c.window;
  shape.margin = margin;
  return shape;
}

}  // namespace lockstep::model
