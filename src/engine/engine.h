// One loaded model, ready to compute: weights, tokenizer, threads and working memory. Sessions are made from it.
//
// An Engine computes one forward pass at a time: forward() and everything that calls it (Session, generate) must be
// called from one thread at a time. Loading is the only thing that allocates in proportion to the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/team.h"
#include "gguf/model_file.h"
#include "model/batch.h"
#include "model/model.h"
#include "model/observer.h"
#include "model/weights.h"
#include "model/workspace.h"
#include "sampling/candidates.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::engine {

struct EngineOptions {
  int threads = 0;           // 0: one per usable CPU
  int64_t ctx_size = 0;      // tokens of context of a session; 0: what the model was trained for
  int64_t batch_size = 512;  // most tokens of one forward pass
  model::Compute compute = model::Compute::kFast;
  kernels::CacheType kv_type = kernels::CacheType::kF16;
  std::string isa = "auto";
  model::Progress progress;  // of reading the weights
};

class Engine {
 public:
  static constexpr int64_t kMaxBatch = int64_t{1} << 16;

  // Errors name the option, or the file and its key or tensor. The file is not needed afterwards.
  static std::unique_ptr<Engine> load(const std::filesystem::path& path, const EngineOptions& options);
  static std::unique_ptr<Engine> load(const gguf::ModelFile& file, const EngineOptions& options);

  [[nodiscard]] const model::Model& model() const noexcept { return model_; }
  [[nodiscard]] const tokenizer::Tokenizer& tokenizer() const noexcept { return tokenizer_; }
  [[nodiscard]] int threads() const noexcept { return team_.size(); }
  [[nodiscard]] int64_t ctx_size() const noexcept { return ctx_size_; }
  [[nodiscard]] int64_t n_vocab() const noexcept { return model_.config.n_vocab; }
  // Most rows, and most rows that want logits, of one forward pass.
  [[nodiscard]] int64_t max_batch() const noexcept { return work_.max_batch; }
  [[nodiscard]] int64_t max_logits() const noexcept { return work_.max_logits; }

  // Sees the named tensors of every forward pass from now on; null: nobody does. Stays the caller's.
  void set_observer(model::Observer* observer) noexcept { observer_ = observer; }

  // How the passes to come multiply. What a session has computed stays as it is: a session belongs to one mode.
  void set_compute(model::Compute compute) noexcept { model_.compute = compute; }

  // See model::forward. The logits live until the next call.
  std::span<const float> forward(model::Batch batch);

  // Of the last forward pass: candidates for the best tokens of the i-th row of logits (model::append_shortlist), empty
  // when there is no such list. They live until the next call.
  [[nodiscard]] std::span<const sampling::Candidate> shortlist(int64_t row);

  // Forward passes so far, and meetings of the team in them.
  [[nodiscard]] uint64_t n_forward() const noexcept { return n_forward_; }
  [[nodiscard]] uint64_t n_syncs() const noexcept { return team_.n_syncs(); }

 private:
  Engine(const gguf::ModelFile& file, const EngineOptions& options);

  tokenizer::Tokenizer tokenizer_;
  exec::Team team_;
  model::Model model_;
  int64_t ctx_size_;
  model::Workspace work_;
  std::vector<std::vector<sampling::Candidate>> shortlists_;  // by row
  model::Observer* observer_ = nullptr;
  uint64_t n_forward_ = 0;
};

}  // namespace lockstep::engine
