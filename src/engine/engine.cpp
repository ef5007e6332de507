#include "engine/engine.h"

#include <algorithm>

#include "base/cpu.h"
#include "base/error.h"
#include "gguf/named_errors.h"
#include "model/forward.h"
#include "model/head.h"
#include "sampling/sampler.h"

namespace lockstep::engine {
namespace {

// Rows of logits kept at once when all are wanted; a longer batch of such rows is cut by whoever makes it.
constexpr int64_t kMaxLogits = 64;

int64_t context(const model::Config& config, int64_t wanted) {
  if (wanted < 0)
    fail(ErrorCode::kBadRequest, "ctx-size {}: expected 0 (the model's {}) or more", wanted, config.context_length);
  if (wanted > config.context_length) {
    fail(ErrorCode::kBadRequest, "ctx-size {}: the model was trained for {} tokens", wanted, config.context_length);
  }
  return wanted == 0 ? config.context_length : wanted;
}

int64_t batch(int64_t wanted, int64_t ctx_size) {
  if (wanted < 1 || wanted > Engine::kMaxBatch)
    fail(ErrorCode::kBadRequest, "batch-size {}: expected 1 to {}", wanted, Engine::kMaxBatch);
  return std::min(wanted, ctx_size);
}

int thread_count(int wanted) {
  if (wanted < 0 || wanted > exec::Team::kMaxMembers) {
    fail(ErrorCode::kBadRequest, "threads {}: expected 0 (one per usable CPU) to {}", wanted, exec::Team::kMaxMembers);
  }
  return wanted == 0 ? usable_cpus() : wanted;
}

}  // namespace

std::unique_ptr<Engine> Engine::load(const std::filesystem::path& path, const EngineOptions& options) {
  return load(gguf::ModelFile::open(path), options);
}

std::unique_ptr<Engine> Engine::load(const gguf::ModelFile& file, const EngineOptions& options) {
  return gguf::naming(file, [&] { return std::unique_ptr<Engine>(new Engine(file, options)); });
}

Engine::Engine(const gguf::ModelFile& file, const EngineOptions& options)
    : tokenizer_(tokenizer::Tokenizer::load(file.metadata())),
      team_(thread_count(options.threads)),
      model_(model::load_model(file, static_cast<int64_t>(tokenizer_.n_tokens()),
                               {options.isa, options.compute, options.kv_type, options.progress, options.ctx_size},
                               team_)),
      ctx_size_(context(model_.config, options.ctx_size)),
      work_(model_.config, team_.size(), batch(options.batch_size, ctx_size_),
            std::min(kMaxLogits, batch(options.batch_size, ctx_size_)), ctx_size_) {
  shortlists_.resize(static_cast<size_t>(work_.max_logits));
}

std::span<const float> Engine::forward(model::Batch batch) {
  ++n_forward_;
  return model::forward(model_, batch, work_, team_, observer_);
}

static_assert(sampling::Sampler::kShortlist <= model::kShortlist);

std::span<const sampling::Candidate> Engine::shortlist(int64_t row) {
  auto& list = shortlists_[static_cast<size_t>(row)];
  list.clear();
  model::append_shortlist(work_, row, list);
  return list;
}

}  // namespace lockstep::engine
