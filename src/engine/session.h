// One timeline of tokens with its KV cache. The caller says which tokens it wants; the session finds what it has already.
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

  // Called by sync() and sync_all() before each forward pass with the tokens computed so far and in all; may throw to give up, and
  // the timeline is then what has been computed.
  using Progress = std::function<void(int64_t done, int64_t total)>;
  void set_progress(Progress progress) { progress_ = std::move(progress); }

  // Makes `tokens` the timeline: the common prefix with the present one stays, the rest is computed. The last token is always
  // computed, so that there are logits. Errors: kBadRequest for an empty list or an id outside the vocabulary, kContextFull with
  // both numbers; the timeline is then as it was. After any other error the session begins anew at its next sync().
  Synced sync(std::span<const TokenId> tokens);

  // The same from the first token on, giving every position's logits: visit(position, logits [n_vocab]).
  void sync_all(std::span<const TokenId> tokens, const std::function<void(int64_t, std::span<const float>)>& visit);

  // The timeline with one more token.
  void append(TokenId token);

  // Of the last token, [n_vocab]. Valid until the engine's next forward pass.
  [[nodiscard]] std::span<const float> logits() const noexcept { return logits_; }

  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }
  [[nodiscard]] uint64_t cache_bytes() const noexcept { return cache_.allocated_bytes(); }

 private:
  void check(std::span<const TokenId> tokens) const;
  std::span<const float> compute(std::span<const TokenId> tokens, bool all_logits, bool last_logits);

  Engine& engine_;
  exec::KvCache cache_;
  std::vector<TokenId> tokens_;
  std::vector<model::BatchRow> rows_;
  std::span<const float> logits_;
  Progress progress_;
};

}  // namespace lockstep::engine
