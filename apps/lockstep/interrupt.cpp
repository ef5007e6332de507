#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "exit_status.h"

namespace lockstep {
namespace {

// A signal handler can reach nothing but objects of static storage; these are all there is. It may run in any thread.
std::atomic<int> first_signal = 0;  // its number; 0: none
std::atomic<int64_t> first_signal_ms = 0;
std::atomic<int> n_to_finish = 0;
std::atomic<bool> is_waiting = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

std::string_view message_of(int signal) noexcept {
  switch (signal) {
    case SIGTERM:
      return "lockstep: ended by SIGTERM\n";
    case SIGHUP:
      return "lockstep: ended: the terminal is gone\n";
    default:
      return "lockstep: interrupted\n";
  }
}

// At once; only what a signal handler may call.
[[noreturn]] void leave(int signal) noexcept {
  const std::string_view message = message_of(signal);
  static_cast<void>(!::write(STDERR_FILENO, message.data(), message.size()));
  ::_exit(kExitBySignal + signal);
}

int64_t now_ms() noexcept {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// One event may send a signal twice: a shell passes SIGHUP on and its own end sends the next, timeout(1) signals its
// child and then its group. Somebody who presses Control-C twice means it.
bool is_echo(int signal) noexcept {
  constexpr int64_t kSameEventMs = 1000;
  return signal != SIGINT && must_leave() && now_ms() - first_signal_ms < kSameEventMs;
}

extern "C" void on_signal(int signal) {
  const bool may_finish = n_to_finish > 0 && !is_waiting;
  if (may_finish && is_echo(signal)) return;
  // What stopped at Control-C may still have to end in order.
  const bool is_first = first_signal == 0 || (first_signal == SIGINT && signal != SIGINT);
  if (!may_finish || !is_first) leave(signal);
  first_signal_ms = now_ms();
  first_signal = signal;
}

// Whoever started the program may want it to live on without its terminal (nohup) or beside others (a shell's &).
bool is_ignored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) ::sigaction(signal, &action, nullptr);
  }
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
}

bool interrupted() noexcept {
  return first_signal != 0;
}

bool must_leave() noexcept {
  return first_signal != 0 && first_signal != SIGINT;
}

int signal_status() noexcept {
  return first_signal == 0 ? kExitDone : kExitBySignal + first_signal;
}

void print_signal() noexcept {
  const std::string_view message = message_of(first_signal);
  static_cast<void>(std::fwrite(message.data(), 1, message.size(), stderr));
}

void forget_interrupt() noexcept {
  int expected = SIGINT;
  first_signal.compare_exchange_strong(expected, 0);
}

void stop_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

DeferSignals::DeferSignals() noexcept {
  ++n_to_finish;
}
DeferSignals::~DeferSignals() {
  --n_to_finish;
}

WaitingForOthers::WaitingForOthers() noexcept {
  is_waiting = true;
  if (must_leave()) leave(first_signal);  // it came just before, and there would be no second one
}
WaitingForOthers::~WaitingForOthers() {
  is_waiting = false;
}

}  // namespace lockstep
