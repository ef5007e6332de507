// Waiting asleep for a number to change: a futex on Linux, nothing between it and the caller. (The standard library's
// atomic wait yields the processor some times before, and a step from token to token makes no system call but this
// one.)
#pragma once

#include <atomic>

namespace lockstep::exec {

class Parking {
 public:
  // Sleeps while `value` is `old`; may wake up without cause.
  void wait(const std::atomic<int>& value, int old) noexcept;

  // Wakes all who sleep on `value`, which has been changed before. Without a sleeper it costs a fence and a load.
  void wake_all(std::atomic<int>& value) noexcept;

 private:
  std::atomic<int> n_parked_{0};
};

}  // namespace lockstep::exec
