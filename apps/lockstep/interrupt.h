// Signals that end the program: Control-C, SIGTERM, and SIGHUP of a terminal that goes away. They end it at once,
// unless something is to be finished (DeferSignals): then the first one lets it end in order after its current step,
// and the second one ends it at once, but for a SIGTERM or SIGHUP that is only the echo of one. POSIX signals are
// handled here and nowhere else.
#pragma once

#include <exception>

namespace lockstep {

// Thrown from progress callbacks to give up between two steps.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

// Signals that the caller has ignored stay so; SIGPIPE and SIGXFSZ are ignored, so that a closed pipe and a file beyond
// the user's limit are errors of the write. Once per program.
void install_signal_handlers();

// A signal has come and waits for us to end.
[[nodiscard]] bool interrupted() noexcept;

// Interrupted by something else than Control-C: what can go on after Control-C, a conversation, cannot now.
[[nodiscard]] bool must_leave() noexcept;

// The exit status that says so: 128 and the signal's number, 130 for Control-C; kExitDone when there was none.
[[nodiscard]] int signal_status() noexcept;

// Says on standard error which signal it was.
void print_signal() noexcept;

// Control-C was heard: the program goes on, and the next one is a first one again. Other signals stay.
void forget_interrupt() noexcept;

// Throws Interrupted when interrupted().
void stop_if_interrupted();

// While one exists there is something to finish: an answer, a file. A first signal only makes interrupted() true, and
// who has the scope looks at it soon enough and after it.
class DeferSignals {
 public:
  DeferSignals() noexcept;
  ~DeferSignals();
  DeferSignals(const DeferSignals&) = delete;
  DeferSignals& operator=(const DeferSignals&) = delete;
};

// While one exists the program waits for somebody amid what it has to finish, for a line of input or the reader of a
// pipe: a signal ends it at once.
class WaitingForOthers {
 public:
  WaitingForOthers() noexcept;
  ~WaitingForOthers();
  WaitingForOthers(const WaitingForOthers&) = delete;
  WaitingForOthers& operator=(const WaitingForOthers&) = delete;
};

}  // namespace lockstep
