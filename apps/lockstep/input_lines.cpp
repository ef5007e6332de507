#include "input_lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace lockstep {
namespace {

constexpr size_t kBytesPerRead = size_t{1} << 16;

constexpr int kNoTime = 0;
constexpr int kAllTime = -1;

// Also at the end of the input, and when it cannot be read: read() has the reason.
bool something_comes_within(int milliseconds) {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, milliseconds) > 0;
}

}  // namespace

bool InputLines::next(std::string_view& line) {
  while (!has_line() && !ended_) {
    if (something_comes_within(kAllTime)) read_more();
  }
  if (begin_ == buffer_.size()) return false;
  line = std::string_view(buffer_).substr(begin_, n_searched_ - begin_);
  begin_ = std::min(n_searched_ + 1, buffer_.size());
  n_searched_ = begin_;
  return true;
}

bool InputLines::ready() {
  if (!has_line() && !ended_ && something_comes_within(kNoTime)) read_more();
  return has_line() || ended_;
}

// Afterwards the next line, or what there is of it, ends at n_searched_.
bool InputLines::has_line() {
  n_searched_ = std::min(buffer_.find('\n', n_searched_), buffer_.size());
  return n_searched_ < buffer_.size();
}

void InputLines::read_more() {
  buffer_.erase(0, begin_);
  n_searched_ -= std::exchange(begin_, 0);
  std::array<char, kBytesPerRead> bytes;
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n < 0 && errno != EINTR && errno != EAGAIN) fail(ErrorCode::kIo, "standard input: {}", std::strerror(errno));
  if (n == 0) ended_ = true;
  if (n <= 0) return;
  // The middle of a line that is too long anyway gives way to what follows.
  if (n_searched_ > kMostJsonBytes) buffer_.resize(n_searched_ = kMostJsonBytes + 1);
  buffer_.append(bytes.data(), static_cast<size_t>(n));
}

void check_length(std::string_view line) {
  if (line.size() > kMostJsonBytes) fail(ErrorCode::kBadRequest, "a line of more than {} bytes", kMostJsonBytes);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == line.npos;
}

}  // namespace lockstep
