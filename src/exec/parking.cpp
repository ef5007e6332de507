#include "exec/parking.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#endif

namespace lockstep::exec {

#if defined(__linux__)

static_assert(sizeof(std::atomic<int>) == 4, "a futex is a number of 32 bits");

// Who parks counts itself and then looks again; who wakes changes the number and then counts. In one total order of
// these four, either the change is seen or the sleeper is.
void Parking::wait(const std::atomic<int>& value, int old) noexcept {
  n_parked_.fetch_add(1, std::memory_order_seq_cst);
  if (value.load(std::memory_order_seq_cst) == old)
    ::syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
  n_parked_.fetch_sub(1, std::memory_order_relaxed);
}

void Parking::wake_all(std::atomic<int>& value) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (n_parked_.load(std::memory_order_seq_cst) > 0)
    ::syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

#else

void Parking::wait(const std::atomic<int>& value, int old) noexcept {
  value.wait(old, std::memory_order_acquire);
}

void Parking::wake_all(std::atomic<int>& value) noexcept {
  value.notify_all();
}

#endif

}  // namespace lockstep::exec
