#include "exec/team.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/cpu.h"
#include "base/error.h"

namespace lockstep::exec {
namespace {

// Waiting costs nothing while the others are about to arrive, so spin first; park when it takes longer than that.
// A pause is some 40 cycles: about 50 microseconds. With more members than processors the awaited one may not even be
// running.
constexpr int kMostSpins = 4000;

// Parking and being woken take some 50 microseconds on a virtual machine; what has a processor taken keeps it for more.
constexpr std::chrono::microseconds kLongWait{200};

constexpr int kAnyCpu = -1;

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

Team::Team(int n_members)
    : n_members_(n_members), most_spins_(n_members <= usable_cpus() ? kMostSpins : 0), spins_(most_spins_) {
  if (n_members < 1 || n_members > kMaxMembers) {
    fail(ErrorCode::kBadRequest, "threads {}: expected 1 to {}", n_members, kMaxMembers);
  }
  try {
    threads_.reserve(static_cast<size_t>(n_members) - 1);
    const std::vector<int> cpus = affinity_list();
    const bool one_each = static_cast<int>(cpus.size()) == n_members && usable_cpus() == n_members;
    for (int i = 1; i < n_members; ++i) {
      const int cpu = one_each ? cpus[static_cast<size_t>(i)] : kAnyCpu;
      threads_.emplace_back([this, i, cpu] { work(i, cpu); });
    }
  } catch (const std::system_error&) {
    const size_t started = threads_.size();
    stop();
    fail(ErrorCode::kNoMemory, "threads {}: the system lets only {} be started", n_members, started + 1);
  } catch (...) {  // no memory for a thread's own state
    stop();
    throw;
  }
}

Team::~Team() {
  stop();
}

void Team::stop() noexcept {
  stopping_.store(true, std::memory_order_relaxed);
  start_.fetch_add(1, std::memory_order_release);
  parking_.wake_all(start_);
  for (std::thread& thread : threads_) thread.join();
}

void Team::run_erased(Program program, void* context) noexcept {
  program_ = program;
  context_ = context;
  start_.fetch_add(1, std::memory_order_release);
  parking_.wake_all(start_);
  Member me(*this, 0);
  program(context, me);
  meet();  // nobody may still be inside when `context` goes away
}

void Team::work(int index, int cpu) noexcept {
  if (cpu != kAnyCpu) pin_this_thread(cpu);
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
    parking_.wake_all(generation_);
  } else {
    wait_while(generation_, generation);
  }
}

// Waiting awake is right while the others are about to arrive. When they are not (another program has their processor),
// it takes away the time that they need: a wait that was long halves the time that the next ones spend awake, down to a
// few microseconds. Every short one lengthens it, more so one that has parked and need not have: parking itself takes
// as long as the others' unequal shares of attention at great depths, and would go on for ever.
void Team::wait_while(const std::atomic<int>& value, int old) noexcept {
  const int spins = spins_.load(std::memory_order_relaxed);
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old) {
      if (spins < most_spins_) spins_.store(std::min(most_spins_, spins + spins / 8 + 1), std::memory_order_relaxed);
      return;
    }
    pause();
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point parked = Clock::now();
  while (value.load(std::memory_order_acquire) == old) parking_.wait(value, old);
  constexpr int kFewSpins = 128;
  const int next = Clock::now() - parked > kLongWait ? std::max(spins / 2, kFewSpins) : 2 * spins;
  spins_.store(std::min(next, most_spins_), std::memory_order_relaxed);
}

}  // namespace lockstep::exec
