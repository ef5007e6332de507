// Standard input by the line, for commands that have other work while nothing comes. Whoever reads lines reads all of
// standard input through this: it keeps what it has read ahead. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

class InputLines {
 public:
  // The next line, without its end, until the next call; waits for it. False at the end of the input, which may leave a
  // last line without an end. Error kIo when it cannot be read.
  [[nodiscard]] bool next(std::string_view& line);

  // True when next() would not wait: a line has come as a whole, or the input has ended.
  [[nodiscard]] bool ready();

 private:
  [[nodiscard]] bool has_line();
  void read_more();

  std::string buffer_;
  size_t begin_ = 0;       // of the next line
  size_t n_searched_ = 0;  // bytes of the buffer; no line ends between begin_ and there
  bool ended_ = false;
};

// Such lines are no requests.
[[nodiscard]] bool is_blank(std::string_view line);

}  // namespace lockstep
