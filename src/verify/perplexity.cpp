#include "verify/perplexity.h"

#include <algorithm>
#include <memory>

#include "base/error.h"

namespace lockstep::verify {
namespace {

// Another compute mode for as long as it exists.
class ModeScope {
 public:
  ModeScope(engine::Engine& engine, model::Compute compute) : engine_(engine), usual_(engine.model().compute) {
    engine_.set_compute(compute);
  }
  ~ModeScope() { engine_.set_compute(usual_); }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  engine::Engine& engine_;
  model::Compute usual_;
};

}  // namespace

void WindowPass::begin(std::span<const TokenId> window, int64_t first) {
  session_.plan(window.first(1));  // forgets the window before, so that nothing of it is taken for computed
  session_.plan(window);
  for (int64_t done = 0; done < first; done += engine_.max_batch())
    compute(std::min(first - done, engine_.max_batch()), false);
}

std::span<const float> WindowPass::next(int64_t n) {
  return compute(n, true);
}

std::span<const float> WindowPass::compute(int64_t n, bool all) {
  if (before_pass_) before_pass_();
  rows_.clear();
  session_.add_rows(n, rows_, all);
  const ModeScope mode(engine_, compute_);
  const std::span<const float> logits = engine_.forward(rows_);
  session_.commit(n, logits, all ? n - 1 : 0);
  return logits;
}

namespace {

// The sums over the scored rows of one window.
void score_window(const TextWindows& windows, int64_t index, int64_t block, WindowPass& pass,
                  const PerplexityOptions& options, PerplexityResult& result) {
  const std::span<const TokenId> window = windows.window(index);
  const int64_t first = windows.first_scored();
  pass.begin(window, first);
  for (int64_t done = 0; done < windows.n_scored();) {
    const int64_t n = std::min(block, windows.n_scored() - done);
    // The base first: its rows stay while the engine goes on with ours.
    const std::span<const float> base = options.base ? options.base(n) : std::span<const float>();
    const std::span<const float> rows = pass.next(n);
    const size_t n_vocab = rows.size() / static_cast<size_t>(n);
    if (options.keep) options.keep(rows);
    for (int64_t i = 0; i < n; ++i) {
      const auto row = [&](std::span<const float> all) {
        return all.subspan(static_cast<size_t>(i) * n_vocab, n_vocab);
      };
      const TokenId next = window[static_cast<size_t>(first + done + i + 1)];
      result.likelihood.add(row(rows), next);
      if (base.empty()) continue;
      result.base_likelihood.add(row(base), next);
      result.divergence.add(row(base), row(rows));
    }
    done += n;
  }
}

}  // namespace

PerplexityResult measure_perplexity(engine::Engine& engine, const TextWindows& windows,
                                    const PerplexityOptions& options) {
  if (windows.size > engine.ctx_size()) {
    fail(ErrorCode::kContextFull, "windows of {} tokens do not fit the context of {}", windows.size, engine.ctx_size());
  }
  PerplexityResult result;
  int64_t n_windows = 0;
  const auto report = [&] {
    if (!options.report) return;
    const int64_t n = result.likelihood.count();
    options.report({n_windows, n, n == 0 ? 0.0 : result.likelihood.perplexity()});
  };
  WindowPass pass(engine, engine.model().compute, report);
  for (; n_windows < windows.count(); ++n_windows)
    score_window(windows, n_windows, engine.max_logits(), pass, options, result);
  return result;
}

namespace {

// Rows of another compute mode, copied out of the engine's way.
class ModeBase {
 public:
  ModeBase(engine::Engine& engine, model::Compute compute, const TextWindows& windows,
           WindowPass::BeforePass before_pass)
      : windows_(windows), pass_(engine, compute, std::move(before_pass)) {}

  std::span<const float> next(int64_t n) {
    if (n_left_ == 0) {
      pass_.begin(windows_.window(n_begun_++), windows_.first_scored());
      n_left_ = windows_.n_scored();
    }
    n_left_ -= n;
    const std::span<const float> rows = pass_.next(n);
    rows_.assign(rows.begin(), rows.end());
    return rows_;
  }

 private:
  const TextWindows& windows_;
  WindowPass pass_;
  int64_t n_begun_ = 0;
  int64_t n_left_ = 0;
  std::vector<float> rows_;
};

}  // namespace

BaseRows base_of_mode(engine::Engine& engine, model::Compute compute, const TextWindows& windows,
                      WindowPass::BeforePass before_pass) {
  const auto base = std::make_shared<ModeBase>(engine, compute, windows, std::move(before_pass));
  return [base](int64_t n) { return base->next(n); };
}

}  // namespace lockstep::verify
