#include "output.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "json_text.h"

namespace lockstep {

void Output::fail_write(int system_error) {
  if (first_error_ == 0) first_error_ = system_error;
  if (first_error_ == EPIPE) throw ClosedPipe();
  fail(ErrorCode::kIo, "writing to standard output: {}", std::strerror(first_error_));
}

void Output::write(std::string_view bytes) {
  if (bytes.empty()) return;
  inside_line_ = bytes.back() != '\n';
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail_write(errno);
}

void Output::flush() {
  errno = 0;
  // An earlier write into the buffer may have failed without anybody looking: ferror remembers.
  if (std::fflush(file_) != 0 || std::ferror(file_) != 0) fail_write(errno == 0 ? EIO : errno);
}

void Output::write_line(const nlohmann::ordered_json& value) {
  write(dump_line(value));
  flush();
}

}  // namespace lockstep
