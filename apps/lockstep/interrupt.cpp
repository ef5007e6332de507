#include "interrupt.h"

#include <unistd.h>

#include <csignal>

#include "exit_status.h"

namespace lockstep {
namespace {

// A signal handler can reach nothing but objects of static storage; these two are all there is.
volatile std::sig_atomic_t was_interrupted = 0;
volatile std::sig_atomic_t is_waiting = 0;

extern "C" void on_interrupt(int /*signal*/) {
  if (was_interrupted != 0 || is_waiting != 0) ::_exit(kExitInterrupted);
  was_interrupted = 1;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() noexcept {
  return was_interrupted != 0;
}

void forget_interrupt() noexcept {
  was_interrupted = 0;
}

void stop_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

WaitingForInput::WaitingForInput() noexcept {
  is_waiting = 1;
}
WaitingForInput::~WaitingForInput() {
  is_waiting = 0;
}

}  // namespace lockstep
