// Lines that a person types on a terminal, with editing keys and a history (libedit). One per program, one thread.
// While a line is typed, Control-C is a key: it gives up the line.
#pragma once

#include <memory>
#include <string>

namespace lockstep {

class LineEditor {
 public:
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Outcome { kLine, kGivenUp, kEnd };

  // The next line, without its end. kGivenUp: Control-C; `line` is what was typed so far. kEnd: Control-D on an empty
  // line, or the terminal is gone.
  [[nodiscard]] Outcome read(const std::string& prompt, std::string& line);

  // Makes `line` the latest of the history.
  void remember(const std::string& line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep
