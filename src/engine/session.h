// One timeline of tokens with its KV cache. The caller says which tokens it wants; the session finds what it has
// already.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "exec/kv_cache.h"

namespace lockstep::engine {

using tokenizer::TokenId;

class Session {
 public:
  explicit Session(Engine& engine);

  struct Synced {
    int64_t reused;    // leading tokens that were in the cache
    int64_t computed;  // tokens that went through the model
  };

  // Called before each forward pass of sync() and sync_all() with the tokens computed so far and in all; may throw to
  // give up, and the timeline is then what has been computed.
  using Progress = std::function<void(int64_t done, int64_t total)>;
  void set_progress(Progress progress) { progress_ = std::move(progress); }

  // Makes `tokens` the timeline: what reusable() says stays, the rest is computed. Errors: kBadRequest for an empty
  // list or an id outside the vocabulary, kContextFull with both numbers; the timeline is then as it was. After any
  // other error it is what has been computed.
  Synced sync(std::span<const TokenId> tokens);

  // How many of the first `tokens` need no computing: the common prefix with the present timeline, or less where
  // windowed layers have forgotten its end (KvCache::cut). Never the last one, so that there are logits.
  [[nodiscard]] int64_t reusable(std::span<const TokenId> tokens) const;

  // The same from the first token on, giving every position's logits: visit(position, logits [n_vocab]).
  void sync_all(std::span<const TokenId> tokens, const std::function<void(int64_t, std::span<const float>)>& visit);

  // The timeline with one more token.
  void append(TokenId token);

  // For a pause before the next turn (KvCache::commit_ahead).
  void commit_ahead() noexcept { cache_.commit_ahead(); }

  // Of the last token, [n_vocab]. Valid until the engine's next forward pass.
  [[nodiscard]] std::span<const float> logits() const noexcept { return logits_; }

  // Candidates for the best of them, or empty (Engine::shortlist). As long-lived.
  [[nodiscard]] std::span<const sampling::Candidate> shortlist() const noexcept { return shortlist_; }

  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }
  [[nodiscard]] uint64_t cache_bytes() const noexcept { return cache_.allocated_bytes(); }

  // ---- for session files ----

  [[nodiscard]] const Engine& engine() const noexcept { return engine_; }
  [[nodiscard]] const exec::KvCache& cache() const noexcept { return cache_; }
  // Takes another timeline: `cache`, of this session's shape, holds the keys and values of `tokens`. There are no
  // logits until the next token.
  void restore(std::vector<TokenId> tokens, exec::KvCache cache);

  // ---- the same in steps, for forward passes that several sessions share ----

  // As sync() and append(), but the new tokens are only noted: they are pending.
  Synced plan(std::span<const TokenId> tokens);
  void plan_one(TokenId token);
  [[nodiscard]] int64_t n_pending() const noexcept { return static_cast<int64_t>(pending_.size()) - n_taken_; }

  // Computes all that is pending, alone.
  void compute_pending();

  // Adds rows for the next n pending tokens to a batch; the last pending token asks for logits (`all`: every token
  // does).
  void add_rows(int64_t n, std::vector<model::BatchRow>& rows, bool all = false);
  // After the batch went through the engine: the n tokens are part of the timeline. If the last pending token was among
  // them, its logits are row `logits_row` of `logits`.
  void commit(int64_t n, std::span<const float> logits, int64_t logits_row);

 private:
  void check(std::span<const TokenId> tokens) const;
  std::span<const float> compute(int64_t n, bool all);

  Engine& engine_;
  exec::KvCache cache_;
  std::vector<TokenId> tokens_;
  std::vector<TokenId> pending_;
  int64_t n_taken_ = 0;  // of pending_, already in tokens_
  std::vector<model::BatchRow> rows_;
  std::span<const float> logits_;
  std::span<const sampling::Candidate> shortlist_;
  Progress progress_;
};

}  // namespace lockstep::engine
