#include "exec/team.h"

#include <algorithm>
#include <system_error>

#include "base/cpu.h"
#include "base/error.h"

namespace lockstep::exec {
namespace {

// Waiting costs nothing while the others are about to arrive, so spin first; park when it takes longer than that.
// A pause is some 40 cycles: about 50 microseconds. With more members than processors the awaited one may not even be
// running.
constexpr int kSpins = 4000;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace

int Member::count() const noexcept {
  return team_.n_members_;
}

Range Member::range(int64_t n, int64_t unit) const noexcept {
  const int64_t units = (n + unit - 1) / unit;
  const int64_t members = count();
  const int64_t begin = units * index_ / members * unit;
  const int64_t end = units * (index_ + 1) / members * unit;
  return {std::min(begin, n), std::min(end, n)};
}

int64_t Member::next() noexcept {
  return team_.ticket_.fetch_add(1, std::memory_order_relaxed);
}

void Member::sync() noexcept {
  team_.meet();
}

Team::Team(int n_members) : n_members_(n_members), spin_limit_(n_members <= usable_cpus() ? kSpins : 0) {
  if (n_members < 1 || n_members > kMaxMembers) {
    fail(ErrorCode::kBadRequest, "threads {}: expected 1 to {}", n_members, kMaxMembers);
  }
  try {
    threads_.reserve(static_cast<size_t>(n_members) - 1);
    for (int i = 1; i < n_members; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error&) {
    const size_t started = threads_.size();
    stopping_.store(true, std::memory_order_relaxed);
    start_.fetch_add(1, std::memory_order_release);
    start_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    fail(ErrorCode::kNoMemory, "threads {}: the system lets only {} be started", n_members, started + 1);
  }
}

Team::~Team() {
  stopping_.store(true, std::memory_order_relaxed);
  start_.fetch_add(1, std::memory_order_release);
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run_erased(Program program, void* context) noexcept {
  program_ = program;
  context_ = context;
  start_.fetch_add(1, std::memory_order_release);
  start_.notify_all();
  Member me(*this, 0);
  program(context, me);
  meet();  // nobody may still be inside when `context` goes away
}

void Team::work(int index) noexcept {
  int seen = 0;
  while (true) {
    wait_while(start_, seen);
    seen = start_.load(std::memory_order_acquire);  // one ahead: run() does not return before all have met
    if (stopping_.load(std::memory_order_relaxed)) return;
    Member me(*this, index);
    program_(context_, me);
    meet();
  }
}

void Team::meet() noexcept {
  if (n_members_ == 1) {
    ticket_.store(0, std::memory_order_relaxed);
    n_syncs_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const int generation = generation_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == n_members_ - 1) {
    arrived_.store(0, std::memory_order_relaxed);
    ticket_.store(0, std::memory_order_relaxed);
    n_syncs_.fetch_add(1, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);  // wraps after two days of tokens, as an atomic may
    generation_.notify_all();
  } else {
    wait_while(generation_, generation);
  }
}

void Team::wait_while(const std::atomic<int>& value, int old) const noexcept {
  for (int i = 0; i < spin_limit_; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace lockstep::exec
