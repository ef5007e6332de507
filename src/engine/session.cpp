#include "engine/session.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep::engine {

Session::Session(Engine& engine) : engine_(engine), cache_(model::cache_shape(engine.model(), engine.ctx_size())) {
  rows_.reserve(static_cast<size_t>(engine.max_batch()));
  tokens_.reserve(static_cast<size_t>(engine.ctx_size()));
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

// Adds tokens to the timeline in one forward pass.
std::span<const float> Session::compute(std::span<const TokenId> tokens, bool all_logits, bool last_logits) {
  const int64_t first = cache_.length();
  const auto n = static_cast<int64_t>(tokens.size());
  cache_.reserve(first + n);
  rows_.clear();
  for (int64_t i = 0; i < n; ++i) rows_.push_back({tokens[static_cast<size_t>(i)], first + i, &cache_, all_logits || (last_logits && i + 1 == n)});
  const std::span<const float> logits = engine_.forward(rows_);
  cache_.set_length(first + n);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return logits;
}

Session::Synced Session::sync(std::span<const TokenId> tokens) {
  check(tokens);
  const auto differing = std::ranges::mismatch(tokens, tokens_).in1;
  const int64_t common = std::min<int64_t>(differing - tokens.begin(), static_cast<int64_t>(tokens.size()) - 1);
  cache_.set_length(common);
  tokens_.resize(static_cast<size_t>(common));
  const auto n_new = static_cast<int64_t>(tokens.size()) - common;
  for (auto rest = tokens.subspan(static_cast<size_t>(common)); !rest.empty();) {
    if (progress_) progress_(n_new - static_cast<int64_t>(rest.size()), n_new);
    const size_t n = std::min(rest.size(), static_cast<size_t>(engine_.max_batch()));
    logits_ = compute(rest.first(n), false, n == rest.size());
    rest = rest.subspan(n);
  }
  return {common, n_new};
}

void Session::sync_all(std::span<const TokenId> tokens, const std::function<void(int64_t, std::span<const float>)>& visit) {
  check(tokens);
  cache_.set_length(0);
  tokens_.clear();
  const auto n_vocab = static_cast<size_t>(engine_.n_vocab());
  for (auto rest = tokens; !rest.empty();) {
    if (progress_) progress_(cache_.length(), static_cast<int64_t>(tokens.size()));
    const size_t n = std::min(rest.size(), static_cast<size_t>(engine_.max_logits()));
    const int64_t first = cache_.length();
    const std::span<const float> logits = compute(rest.first(n), true, true);
    for (size_t i = 0; i < n; ++i) visit(first + static_cast<int64_t>(i), logits.subspan(i * n_vocab, n_vocab));
    logits_ = logits.last(n_vocab);
    rest = rest.subspan(n);
  }
}

void Session::append(TokenId token) {
  check({&token, 1});
  if (cache_.length() >= engine_.ctx_size()) {
    fail(ErrorCode::kContextFull, "{} tokens do not fit the context of {}", cache_.length() + 1, engine_.ctx_size());
  }
  logits_ = compute({&token, 1}, false, true);
}

}  // namespace lockstep::engine
