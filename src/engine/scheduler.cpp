#include "engine/scheduler.h"

#include <algorithm>
#include <new>

namespace lockstep::engine {

Scheduler::Scheduler(Engine& engine, int64_t n_slots) : engine_(engine) {
  if (n_slots < 1 || n_slots > engine.max_logits())
    fail(ErrorCode::kBadRequest, "parallel {}: expected 1 to {}", n_slots, engine.max_logits());
  for (int64_t i = 0; i < n_slots; ++i) slots_.push_back({std::make_unique<Session>(engine), {}, nullptr, 0});
}

// A step of one request: what goes wrong, also that there is no memory for it, ends this one alone. What a receiver
// throws is not the request's, and goes to whoever called step().
template <typename Step>
void Scheduler::attempt(Slot& slot, const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    abandon(slot, error);
  } catch (const std::bad_alloc&) {
    abandon(slot, Error(ErrorCode::kNoMemory, "not enough memory for this request"));
  }
}

// The free slot whose timeline has the longest beginning in common with the prompt.
Scheduler::Slot* Scheduler::best_free_slot(std::span<const TokenId> prompt) {
  Slot* best = nullptr;
  int64_t most = -1;
  for (Slot& slot : slots_) {
    if (slot.busy()) continue;
    const int64_t reusable = slot.session->reusable(prompt);
    if (reusable > most) {
      most = reusable;
      best = &slot;
    }
  }
  return best;
}

void Scheduler::admit() {
  while (!waiting_.empty()) {
    Slot* slot = best_free_slot(waiting_.front().prompt);
    if (slot == nullptr) return;
    slot->request = std::move(waiting_.front());
    waiting_.pop_front();
    attempt(*slot, [&] {
      slot->generation = std::make_unique<Generation>(*slot->session, engine_, slot->request.prompt,
                                                      slot->request.options, slot->request.on_token);
    });
  }
}

// Decoding first: who waits for one token gets it in every pass. Prompts share the rest of the rows.
void Scheduler::fill_batch() {
  rows_.clear();
  for (Slot& slot : slots_) slot.n_rows = 0;
  for (const bool decoding : {true, false}) {
    for (Slot& slot : slots_) {
      if (!slot.busy() || (slot.session->n_pending() == 1) != decoding) continue;
      const int64_t n = std::min(slot.session->n_pending(), engine_.max_batch() - static_cast<int64_t>(rows_.size()));
      if (n <= 0) continue;
      attempt(slot, [&] {
        slot.session->add_rows(n, rows_);
        slot.n_rows = n;
      });
    }
  }
}

void Scheduler::compute_batch() {
  const std::span<const float> logits = engine_.forward(rows_);
  int64_t logits_row = 0;
  // The logits come in the order of the rows: first those of decoding slots, then those of finished prompts.
  for (const bool decoding : {true, false}) {
    for (Slot& slot : slots_) {
      const bool was_decoding = slot.session->n_pending() == 1;
      if (slot.n_rows == 0 || was_decoding != decoding) continue;
      const bool has_logits = slot.n_rows == slot.session->n_pending();
      slot.session->commit(std::exchange(slot.n_rows, 0), logits, logits_row);
      if (has_logits) ++logits_row;
    }
  }
}

// A value that is not finite came up in a shared pass: find out whose.
void Scheduler::compute_one_by_one() {
  for (Slot& slot : slots_) {
    if (slot.n_rows == 0) continue;
    attempt(slot, [&] {
      slot.session->compute_pending();
      if (slot.busy()) slot.generation->advance();
    });
    slot.n_rows = 0;
    if (slot.busy() && slot.generation->done()) finish(slot);
  }
}

bool Scheduler::step() {
  admit();
  fill_batch();
  if (rows_.empty()) return !waiting_.empty();
  try {
    compute_batch();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFinite) throw;
    compute_one_by_one();
    return true;
  }
  for (Slot& slot : slots_) {
    if (!slot.busy() || slot.session->n_pending() > 0) continue;
    attempt(slot, [&] { slot.generation->advance(); });
    if (slot.busy() && slot.generation->done()) finish(slot);
  }
  return true;
}

void Scheduler::finish(Slot& slot) {
  Generated result = slot.generation->take_result();
  slot.generation.reset();
  const Request request = std::exchange(slot.request, {});
  if (request.on_done) request.on_done(std::move(result));
}

void Scheduler::abandon(Slot& slot, const Error& error) {
  slot.generation.reset();
  slot.n_rows = 0;
  const Request request = std::exchange(slot.request, {});
  if (request.on_done) request.on_done(error);
}

}  // namespace lockstep::engine
