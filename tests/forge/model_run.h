// For tests only: a model loaded from a file, and the logits of all positions of a token sequence, however it is cut.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "exec/team.h"
#include "gguf/model_file.h"
#include "kernels/select.h"
#include "model/forward.h"

namespace lockstep::forge {

inline int64_t vocabulary_size(const gguf::ModelFile& file) {
  return static_cast<int64_t>(file.metadata().find_array<std::string>("tokenizer.ggml.tokens")->size());
}

struct RunOptions {
  model::Compute compute = model::Compute::kExact;
  kernels::CacheType cache = kernels::CacheType::kF32;
  std::string isa = "auto";
  int threads = 2;       // that read the file
  int64_t ctx_size = 0;  // 0: what the model was trained for
};

inline model::Model load_model(const std::filesystem::path& path, const RunOptions& options = {}) {
  const gguf::ModelFile file = gguf::ModelFile::open(path);
  exec::Team team(options.threads);
  return model::load_model(file, vocabulary_size(file),
                           {options.isa, options.compute, options.cache, {}, options.ctx_size}, team);
}

// Threads and working memory for one model; counts its forward passes.
class ModelRun {
 public:
  ModelRun(const model::Model& model, int threads, int64_t max_batch, int64_t max_positions)
      : model_(model),
        max_positions_(max_positions),
        team_(threads),
        work_(model.config, threads, max_batch, max_batch, max_positions) {}

  [[nodiscard]] exec::KvCache new_cache(int64_t margin = 512) const {
    return exec::KvCache(model::cache_shape(model_, max_positions_, margin));
  }

  // One pass over `rows`, whose caches then hold them.
  std::vector<float> pass(std::vector<model::BatchRow> rows) {
    for (const model::BatchRow& row : rows) row.cache->reserve(row.position + 1);
    const std::span<const float> logits = model::forward(model_, rows, work_, team_, observer_);
    for (const model::BatchRow& row : rows) row.cache->set_length(row.position + 1);
    ++n_passes_;
    return {logits.begin(), logits.end()};
  }

  // Logits [n, n_vocab] of tokens that follow what the cache holds, `chunk` at a time.
  std::vector<float> logits(const std::vector<int32_t>& tokens, exec::KvCache& cache, size_t chunk) {
    std::vector<float> all;
    for (size_t first = 0; first < tokens.size(); first += chunk) {
      std::vector<model::BatchRow> rows;
      for (size_t i = first; i < std::min(first + chunk, tokens.size()); ++i) {
        rows.push_back({tokens[i], cache.length() + static_cast<int64_t>(i - first), &cache, true});
      }
      const std::vector<float> some = pass(std::move(rows));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  std::vector<float> logits(const std::vector<int32_t>& tokens, size_t chunk) {
    exec::KvCache cache = new_cache();
    return logits(tokens, cache, chunk);
  }

  // Sees the passes from now on.
  void set_observer(model::Observer* observer) { observer_ = observer; }

  [[nodiscard]] exec::Team& team() { return team_; }
  [[nodiscard]] int64_t n_passes() const { return n_passes_; }

 private:
  const model::Model& model_;
  int64_t max_positions_;
  exec::Team team_;
  model::Workspace work_;
  model::Observer* observer_ = nullptr;
  int64_t n_passes_ = 0;
};

// All logits of one sequence in one pass.
inline std::vector<float> all_logits(const model::Model& model, const std::vector<int32_t>& tokens, int threads = 2) {
  const auto n = static_cast<int64_t>(tokens.size());
  return ModelRun(model, threads, n, n).logits(tokens, tokens.size());
}

// Sum of squared differences / sum of squares: the measure of the reference data.
template <typename A, typename B>
double nmse(const std::vector<A>& got, const std::vector<B>& wanted) {
  if (got.size() != wanted.size()) return 1e300;
  double difference = 0;
  double square = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double d = static_cast<double>(got[i]) - static_cast<double>(wanted[i]);
    difference += d * d;
    square += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
  }
  return difference / square;
}

}  // namespace lockstep::forge
