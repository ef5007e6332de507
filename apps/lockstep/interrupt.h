// Control-C: the first one lets the program end in order after its current step, the second one ends it at once. POSIX
// signals are handled here and nowhere else.
#pragma once

#include <exception>

namespace lockstep {

// Thrown from progress callbacks to give up between two steps.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

// SIGINT sets a flag; SIGPIPE is ignored, so that a closed pipe is an error of the write. Once per program.
void install_signal_handlers();

[[nodiscard]] bool interrupted() noexcept;

// The interrupt was heard: the program goes on, and the next one is a first one again.
void forget_interrupt() noexcept;

// Throws Interrupted when interrupted().
void stop_if_interrupted();

// While one exists the program waits for input and has nothing to finish: SIGINT ends it at once, with status 130.
class WaitingForInput {
 public:
  WaitingForInput() noexcept;
  ~WaitingForInput();
  WaitingForInput(const WaitingForInput&) = delete;
  WaitingForInput& operator=(const WaitingForInput&) = delete;
};

}  // namespace lockstep
