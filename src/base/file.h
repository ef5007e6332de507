// Regular files by position: the only place that knows POSIX file calls. A File is safe to read from several threads at
// once.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

class File {
 public:
  // Opens an existing regular file for reading. A folder, FIFO, device or socket is refused without blocking.
  // Errors: kNotFound, kIo, kBadFile; the message shows `path` as given and no more.
  static File open_for_reading(const std::filesystem::path& path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  // Reads exactly out.size() bytes at `offset`; a file that ends earlier is an error saying how many bytes are missing.
  void read_at(uint64_t offset, std::span<std::byte> out) const;

  // After the last read: kBadFile when somebody wrote into the file since it was opened, so that what was read may be
  // part old, part new. Goes by size and time of writing, which some systems count in steps of milliseconds.
  void expect_unchanged() const;

 private:
  File(int descriptor, const struct stat& status, std::filesystem::path path);
  int descriptor_;
  uint64_t size_;
  timespec modified_;
  std::filesystem::path path_;
};

// The whole of a regular file of at most `most` bytes; of a larger one nothing is read (kBadFile).
std::string read_text_file(const std::filesystem::path& path, uint64_t most = uint64_t{1} << 30);

}  // namespace lockstep
