// Standard output as a thing that can fail: every write is checked, so that a full disk is an error and a closed pipe
// ends the program quietly. One per program; one thread.
#pragma once

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>

namespace lockstep {

// Whoever read our output has gone away; nothing is left to be said.
class ClosedPipe : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "standard output was closed by its reader"; }
};

class Output {
 public:
  // `file` stays open and is the caller's.
  explicit Output(std::FILE* file) : file_(file) {}

  // Errors of both: ClosedPipe, or Error kIo naming what the system said.
  void write(std::string_view bytes);
  void flush();

  // One line of JSON, flushed: the reader of JSONL may wait for it.
  void write_line(const nlohmann::ordered_json& value);

  // True when the last byte written was not the end of a line.
  [[nodiscard]] bool inside_line() const noexcept { return inside_line_; }
  [[nodiscard]] std::FILE* file() const noexcept { return file_; }

 private:
  [[noreturn]] void fail_write(int system_error);

  std::FILE* file_;
  int first_error_ = 0;  // of the system; the stream fails from then on and says no longer why
  bool inside_line_ = false;
};

}  // namespace lockstep
