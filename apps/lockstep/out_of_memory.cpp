#include "out_of_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "exit_status.h"

namespace lockstep {
namespace {

// Anything but memory that ended is a fault of ours, and should look like one.
[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kMessage = "lockstep: error: not enough memory\n";
    static_cast<void>(!::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
    ::_exit(kExitFailed);
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
  std::abort();
}

}  // namespace

void install_out_of_memory_handler() {
  std::set_terminate(on_terminate);
}

}  // namespace lockstep
