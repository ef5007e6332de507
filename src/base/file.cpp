#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace lockstep {
namespace {

std::string shown(const std::filesystem::path& path) {
  return printable(path.native(), 200);
}

}  // namespace

File File::open_for_reading(const std::filesystem::path& path) {
  if (path.empty()) fail(ErrorCode::kNotFound, "empty file name");
  if (path.native().find('\0') != std::string::npos)
    fail(ErrorCode::kNotFound, "{}: file name with a NUL byte", shown(path));
  std::filesystem::path name = path;  // before there is a descriptor that a failing copy would lose
  // O_NONBLOCK: a FIFO without a writer must not hang; it has no effect on the regular files we go on with.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
    fail(code, "{}: {}", shown(path), std::strerror(errno));
  }
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    fail(ErrorCode::kBadFile, "{}: not a regular file", shown(path));
  }
  return File(descriptor, status, std::move(name));
}

File::File(int descriptor, const struct stat& status, std::filesystem::path path)
    : descriptor_(descriptor),
      size_(static_cast<uint64_t>(status.st_size)),
      modified_(status.st_mtim),
      path_(std::move(path)) {}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      modified_(other.modified_),
      path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(modified_, other.modified_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void File::read_at(uint64_t offset, std::span<std::byte> out) const {
  constexpr size_t kMostPerCall = size_t{1} << 30;  // Linux reads at most 2 GiB - 4 KiB in one call
  size_t done = 0;
  while (done < out.size()) {
    const size_t wanted = std::min(out.size() - done, kMostPerCall);
    const ssize_t got = ::pread(descriptor_, out.data() + done, wanted, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorCode::kIo, "{}: read at byte {}: {}", shown(path_), offset + done, std::strerror(errno));
    if (got == 0) {
      fail(ErrorCode::kBadFile, "{}: the file ends at byte {}, {} bytes missing", shown(path_), offset + done,
           out.size() - done);
    }
    done += static_cast<size_t>(got);
  }
}

void File::expect_unchanged() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) fail(ErrorCode::kIo, "{}: {}", shown(path_), std::strerror(errno));
  const bool unchanged = static_cast<uint64_t>(status.st_size) == size_ && status.st_mtim.tv_sec == modified_.tv_sec &&
                         status.st_mtim.tv_nsec == modified_.tv_nsec;
  if (!unchanged)
    fail(ErrorCode::kBadFile, "{}: was written to while it was read: load it again when it is complete", shown(path_));
}

std::string read_text_file(const std::filesystem::path& path, uint64_t most) {
  const File file = File::open_for_reading(path);
  if (file.size() > most) {
    fail(ErrorCode::kBadFile, "{}: {} bytes, expected at most {}", shown(path), file.size(), most);
  }
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace lockstep
