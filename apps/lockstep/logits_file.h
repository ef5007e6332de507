// A file of raw little-endian fp32 rows. Every write is checked.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace lockstep {

class LogitsFile {
 public:
  // Creates the file, or empties it. Errors of all: kIo, naming the file.
  explicit LogitsFile(std::string path);

  void write(std::span<const float> row);
  void close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  [[noreturn]] void fail_with(int system_error) const;

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace lockstep
