#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "exit_status.h"

namespace lockstep {
namespace {

// A signal handler can reach nothing but objects of static storage; these are all there is. It may run in any thread.
std::atomic<int> first_signal = 0;  // its number; 0: none
std::atomic<int> n_to_finish = 0;
std::atomic<bool> is_waiting = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

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

extern "C" void on_signal(int signal) {
  if (first_signal != 0 || is_waiting || n_to_finish == 0) leave(signal);
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
  if (!must_leave()) first_signal = 0;
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

WaitingForInput::WaitingForInput() noexcept {
  is_waiting = true;
  if (must_leave()) leave(first_signal);  // it came just before, and there would be no second one
}
WaitingForInput::~WaitingForInput() {
  is_waiting = false;
}

}  // namespace lockstep
