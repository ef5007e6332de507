#include "engine/session.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep::engine {

Session::Session(Engine& engine)
    : engine_(engine), cache_(model::cache_shape(engine.model(), engine.ctx_size(), engine.max_batch())) {
  rows_.reserve(static_cast<size_t>(engine.max_batch()));
  constexpr int64_t kUsualContext = int64_t{1} << 17;
  tokens_.reserve(static_cast<size_t>(std::min(kUsualContext, engine.ctx_size())));
}

void Session::check(std::span<const TokenId> tokens) const {
  if (tokens.empty()) fail(ErrorCode::kBadRequest, "the prompt is empty, expected at least one token");
  if (static_cast<int64_t>(tokens.size()) > engine_.ctx_size()) {
    fail(ErrorCode::kContextFull, "{} tokens do not fit the context of {}", tokens.size(), engine_.ctx_size());
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= engine_.n_vocab()) {
      fail(ErrorCode::kBadRequest, "token id {} at position {}: expected 0 to {}", tokens[i], i, engine_.n_vocab() - 1);
    }
  }
}

int64_t Session::reusable(std::span<const TokenId> tokens) const {
  const auto differing = std::ranges::mismatch(tokens, tokens_).in1;
  const int64_t common = std::min<int64_t>(differing - tokens.begin(), static_cast<int64_t>(tokens.size()) - 1);
  return cache_.longest_beginning(std::max(int64_t{0}, common));
}

Session::Synced Session::plan(std::span<const TokenId> tokens) {
  check(tokens);
  const int64_t kept = cache_.cut(reusable(tokens));
  cache_.mark();
  tokens_.resize(static_cast<size_t>(kept));
  pending_.assign(tokens.begin() + kept, tokens.end());
  n_taken_ = 0;
  return {kept, n_pending()};
}

void Session::plan_one(TokenId token) {
  check({&token, 1});
  if (cache_.length() >= engine_.ctx_size()) {
    fail(ErrorCode::kContextFull, "{} tokens do not fit the context of {}", cache_.length() + 1, engine_.ctx_size());
  }
  pending_.assign(1, token);
  n_taken_ = 0;
}

void Session::add_rows(int64_t n, std::vector<model::BatchRow>& rows, bool all) {
  const int64_t first = cache_.length();
  cache_.reserve(first + n);
  for (int64_t i = 0; i < n; ++i) {
    rows.push_back({pending_[static_cast<size_t>(n_taken_ + i)], first + i, &cache_, all || i + 1 == n_pending()});
  }
}

void Session::commit(int64_t n, std::span<const float> logits, int64_t logits_row) {
  const auto begin = pending_.begin() + n_taken_;
  tokens_.insert(tokens_.end(), begin, begin + n);
  cache_.set_length(cache_.length() + n);
  n_taken_ += n;
  if (n_pending() > 0) return;
  const auto n_vocab = static_cast<size_t>(engine_.n_vocab());
  logits_ = logits.subspan(static_cast<size_t>(logits_row) * n_vocab, n_vocab);
  shortlist_ = engine_.shortlist(logits_row);
}

// The next n pending tokens in a forward pass of their own; its logits.
std::span<const float> Session::compute(int64_t n, bool all) {
  rows_.clear();
  add_rows(n, rows_, all);
  const std::span<const float> logits = engine_.forward(rows_);
  commit(n, logits, all ? n - 1 : 0);
  return logits;
}

Session::Synced Session::sync(std::span<const TokenId> tokens) {
  const Synced synced = plan(tokens);
  compute_pending();
  return synced;
}

void Session::compute_pending() {
  while (n_pending() > 0) {
    if (progress_) progress_(n_taken_, static_cast<int64_t>(pending_.size()));
    compute(std::min(n_pending(), engine_.max_batch()), false);
  }
}

void Session::sync_all(std::span<const TokenId> tokens,
                       const std::function<void(int64_t, std::span<const float>)>& visit) {
  check(tokens);
  tokens_.clear();
  plan(tokens);
  const auto n_vocab = static_cast<size_t>(engine_.n_vocab());
  while (n_pending() > 0) {
    if (progress_) progress_(n_taken_, static_cast<int64_t>(pending_.size()));
    const int64_t first = cache_.length();
    const int64_t n = std::min(n_pending(), engine_.max_logits());
    const std::span<const float> logits = compute(n, true);
    for (int64_t i = 0; i < n; ++i) visit(first + i, logits.subspan(static_cast<size_t>(i) * n_vocab, n_vocab));
  }
}

void Session::restore(std::vector<TokenId> tokens, exec::KvCache cache) {
  cache_ = std::move(cache);
  tokens_ = std::move(tokens);
  pending_.clear();
  n_taken_ = 0;
  logits_ = {};
  shortlist_ = {};
}

void Session::append(TokenId token) {
  plan_one(token);
  compute_pending();
}

}  // namespace lockstep::engine
