// The perplexity of a text under a model, and how far the model's predictions are from a base: another compute mode of
// the same model, or logits kept in a file. Works through the text block by block; what it holds does not grow with it.
// Uses the engine, so one thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "engine/engine.h"
#include "engine/session.h"
#include "verify/prediction_score.h"
#include "verify/text_windows.h"

namespace lockstep::verify {

// A window on its way through the model: first the half that is not scored, then the scored rows, some at a time. The
// bits are those of any other way to compute it (NUMERICS.md).
class WindowPass {
 public:
  // Called before each forward pass; may throw to give up.
  using BeforePass = std::function<void()>;

  WindowPass(engine::Engine& engine, model::Compute compute, BeforePass before_pass)
      : engine_(engine), compute_(compute), before_pass_(std::move(before_pass)), session_(engine) {}

  // Begins with a window, whose rows are wanted from position `first` on.
  void begin(std::span<const TokenId> window, int64_t first);

  // The logits [n, n_vocab] of the next n positions, n at most engine.max_logits(). Valid until the engine's next
  // forward pass.
  std::span<const float> next(int64_t n);

 private:
  std::span<const float> compute(int64_t n, bool all);

  engine::Engine& engine_;
  model::Compute compute_;
  BeforePass before_pass_;
  engine::Session session_;
  std::vector<model::BatchRow> rows_;
};

// Gives the base's logits [n, n_vocab] of the next n scored positions, window after window, valid until the next call.
using BaseRows = std::function<std::span<const float>(int64_t n)>;
// Takes the model's logits [n, n_vocab] of the next scored positions.
using RowsSink = std::function<void(std::span<const float>)>;

struct PerplexityProgress {
  int64_t n_windows;  // finished
  int64_t n_scored;   // positions so far; without any, the rest is meaningless
  double perplexity;
};

struct PerplexityOptions {
  BaseRows base;                                          // none: no divergence
  RowsSink keep;                                          // none: logits are not kept
  std::function<void(const PerplexityProgress&)> report;  // before each forward pass; may throw to give up
};

struct PerplexityResult {
  LikelihoodSum likelihood;
  LikelihoodSum base_likelihood;
  DivergenceSum divergence;  // empty without a base
};

// The engine's context must hold a window. Errors: those of forward(), of base and keep.
[[nodiscard]] PerplexityResult measure_perplexity(engine::Engine& engine, const TextWindows& windows,
                                                  const PerplexityOptions& options);

// The same model in another compute mode, as a base. `windows` and `engine` must outlive it.
[[nodiscard]] BaseRows base_of_mode(engine::Engine& engine, model::Compute compute, const TextWindows& windows,
                                    WindowPass::BeforePass before_pass);

}  // namespace lockstep::verify
