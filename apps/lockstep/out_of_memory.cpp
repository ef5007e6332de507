#include "out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "exit_status.h"

namespace lockstep {
namespace {

std::atomic<bool> memory_has_ended = false;

// As without a handler, but that it is known.
[[noreturn]] void on_no_memory() {
  memory_has_ended = true;
  throw std::bad_alloc();
}

[[noreturn]] void leave() noexcept {
  constexpr std::string_view kMessage = "lockstep: error: not enough memory\n";
  static_cast<void>(!::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
  ::_exit(kExitFailed);
}

// Anything but memory that ended is a fault of ours, and should look like one. Where destructors run before a noexcept
// function ends the program, compilers tell no more than that some exception was on its way.
[[noreturn]] void on_terminate() {
  const std::exception_ptr error = std::current_exception();
  if (!error && std::uncaught_exceptions() > 0 && memory_has_ended) leave();
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    leave();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
  std::abort();
}

}  // namespace

void install_out_of_memory_handler() {
  std::set_new_handler(on_no_memory);
  std::set_terminate(on_terminate);
}

}  // namespace lockstep
