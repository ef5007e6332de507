// Standard input by the line, for commands that have other work while nothing comes. Whoever reads lines reads all of
// standard input through this: it keeps what it has read ahead. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

// The largest line that is served, and the largest request or conversation as JSON in a file.
inline constexpr uint64_t kMostJsonBytes = uint64_t{1} << 24;

class InputLines {
 public:
  // The next line, without its end, until the next call; waits for it. False at the end of the input, which may leave a
  // last line without an end. Of one that is too long for check_length not all is kept. Error kIo when it cannot be
  // read.
  [[nodiscard]] bool next(std::string_view& line);

  // True when next() would not wait: a line has come as a whole, or the input has ended. Reads once at most, so that a
  // long line holds nobody up.
  [[nodiscard]] bool ready();

 private:
  [[nodiscard]] bool has_line();
  void read_more();

  std::string buffer_;
  size_t begin_ = 0;       // of the next line
  size_t n_searched_ = 0;  // bytes of the buffer; no line ends between begin_ and there
  bool ended_ = false;
};

// Error kBadRequest for a line of more than kMostJsonBytes.
void check_length(std::string_view line);

// Such lines are no requests.
[[nodiscard]] bool is_blank(std::string_view line);

}  // namespace lockstep
