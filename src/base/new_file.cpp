#include "base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
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

// Moving a file onto a device would replace the device.
void refuse_what_is_no_file(const std::filesystem::path& path) {
  if (path.empty()) fail(ErrorCode::kNotFound, "empty file name");
  if (path.native().find('\0') != std::string::npos)
    fail(ErrorCode::kNotFound, "{}: file name with a NUL byte", shown(path));
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    fail(ErrorCode::kBadFile, "{}: not a regular file", shown(path));
}

// Through a link, the file that it names is replaced and the link stays.
std::filesystem::path final_place(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, ignored);
  return target.empty() ? path : target;
}

}  // namespace

NewFile::NewFile(std::filesystem::path path) {
  refuse_what_is_no_file(path);
  path_ = final_place(path);
  partial_ = path_;
  partial_ += ".partial-" + std::to_string(::getpid());
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail_with(errno);
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  constexpr size_t kMostPerCall = size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMostPerCall));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with(errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void NewFile::commit() {
  if (::fsync(descriptor_) != 0) fail_with(errno);
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail_with(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_with(errno);
  sync_folder();
}

// The new name is on the disk only when the folder is. Not every file system can say so.
void NewFile::sync_folder() const {
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

void NewFile::fail_with(int system_error) const {
  fail(ErrorCode::kIo, "{}: {}", shown(path_), std::strerror(system_error));
}

}  // namespace lockstep
