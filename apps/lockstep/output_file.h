// A file of results that an option names. It comes as a whole or not at all, and until then what stood there stays; a
// pipe or device (/dev/stdout, a shell's >(program)), where nothing earlier can be lost, gets the bytes as they come.
// Belongs to one thread.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/new_file.h"
#include "interrupt.h"

namespace lockstep {

class OutputFile {
 public:
  // Errors of all: kIo or kBadFile, naming the file.
  explicit OutputFile(std::string path);

  void write(std::string_view text) { write_bytes(std::as_bytes(std::span(text))); }
  void write(std::span<const float> numbers);  // little-endian

  // After the last write: the file is complete. Without it, it is as it was.
  void commit();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Whether one of both would replace the other. Pipes and devices take the bytes of both.
  [[nodiscard]] bool has_place_of(const OutputFile& other) const {
    return file_ && other.file_ && file_->has_place_of(*other.file_);
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  void write_bytes(std::span<const std::byte> bytes);
  [[noreturn]] void fail_with(int system_error) const;

  std::string path_;
  std::optional<DeferSignals> until_complete_;  // an unfinished file may have a name
  std::optional<NewFile> file_;
  std::unique_ptr<std::FILE, Closer> stream_;  // when it is no regular file
};

}  // namespace lockstep
