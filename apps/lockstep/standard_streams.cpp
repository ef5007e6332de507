#include "standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace lockstep {

void occupy_closed_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() takes the lowest free number, which is this one. Only for reading: a write is an error of its writer.
    static_cast<void>(::open("/dev/null", O_RDONLY));
  }
}

}  // namespace lockstep
