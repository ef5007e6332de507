#include "campaign/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

namespace lockstep::campaign {
namespace {

constexpr std::chrono::seconds kNone{0};
constexpr std::chrono::seconds kSecond{1};

// What is being worked on, for the signal handler: plain memory, and nothing but write().
std::array<char, 256> present = {};

void say_present() {
  const auto length = static_cast<size_t>(std::find(present.begin(), present.end(), '\0') - present.begin());
  (void)!::write(STDERR_FILENO, present.data(), length);
  (void)!::write(STDERR_FILENO, "\n", 1);
}

void on_signal(int signal) {
  say_present();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Watchdog::Watchdog(std::chrono::seconds most) : most_(most), thread_([this] { watch(); }) {
  std::signal(SIGABRT, on_signal);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)  // sanitizers have handlers of their own, which say more
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, on_signal);
#endif
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::start(const std::string& what) {
  const std::lock_guard lock(mutex_);
  present.fill('\0');
  std::copy_n(what.begin(), std::min(what.size(), present.size() - 1), present.begin());
  left_ = most_;
  changed_.notify_all();
}

void Watchdog::stop() {
  const std::lock_guard lock(mutex_);
  left_.reset();
  changed_.notify_all();
}

// Second by second, so that a process that was stopped for a while does not count that as work.
void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (!left_) {
      changed_.wait(lock);
    } else if (changed_.wait_for(lock, kSecond) == std::cv_status::timeout && left_ && (*left_ -= kSecond) <= kNone) {
      say_present();
      (void)!::write(STDERR_FILENO, "it does not end\n", 16);
      std::_Exit(1);
    }
  }
}

}  // namespace lockstep::campaign
