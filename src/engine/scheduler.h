// Many requests in one engine: every forward pass carries the next token of each answer in progress and, in the room
// that is left, a piece of the prompts that wait. Nobody's tokens depend on who travels along (NUMERICS.md).
//
// Belongs to one thread. Requests are served in the order in which they came, up to n_slots at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "base/error.h"
#include "engine/generate.h"

namespace lockstep::engine {

struct Request {
  std::vector<TokenId> prompt;
  GenerateOptions options;
  OnToken on_token;
  // Called once: the answer, or why there is none. Other requests are not touched by one that fails.
  std::function<void(std::variant<Generated, Error>)> on_done;
};

class Scheduler {
 public:
  // n_slots in 1..engine.max_logits(): sessions, each with a KV cache of its own.
  Scheduler(Engine& engine, int64_t n_slots);

  void submit(Request request) { waiting_.push_back(std::move(request)); }

  // One forward pass. False when there is nothing to do.
  bool step();
  void run() {
    while (step()) {
    }
  }

 private:
  // A session and, while it is busy, the request that it serves.
  struct Slot {
    std::unique_ptr<Session> session;
    Request request;
    std::unique_ptr<Generation> generation;
    int64_t n_rows = 0;  // in the present pass

    [[nodiscard]] bool busy() const { return generation != nullptr; }
  };

  template <typename Step>
  static void attempt(Slot& slot, const Step& step);
  void admit();
  Slot* best_free_slot(std::span<const TokenId> prompt);
  void fill_batch();
  void compute_batch();
  void compute_one_by_one();
  static void finish(Slot& slot);
  static void abandon(Slot& slot, const Error& error);

  Engine& engine_;
  std::vector<Slot> slots_;
  std::deque<Request> waiting_;
  std::vector<model::BatchRow> rows_;
};

}  // namespace lockstep::engine
