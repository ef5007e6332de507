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

// Where a file without a name can be given one later (proc(5)).
constexpr const char* kDescriptors = "/proc/self/fd";

// A file in the folder without a name, so that the system removes it however the program ends; -1 where the file system
// or the system has no such files (open(2): O_TMPFILE).
int open_unnamed(const std::filesystem::path& folder) {
  if (::access(kDescriptors, X_OK) != 0) return -1;
  return ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
}

}  // namespace

NewFile::NewFile(std::filesystem::path path) {
  refuse_what_is_no_file(path);
  path_ = final_place(path);
  partial_ = path_;
  partial_ += ".partial-" + std::to_string(::getpid());
  descriptor_ = open_unnamed(folder());
  has_name_ = descriptor_ < 0;
  if (has_name_) descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail_with(errno);
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (has_name_) ::unlink(partial_.c_str());
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
  if (!has_name_) give_name();
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail_with(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_with(errno);
  sync_folder();
}

// A name to be moved from: only a move replaces what stands in its place at one stroke.
void NewFile::give_name() {
  const std::string open_file = std::string(kDescriptors) + "/" + std::to_string(descriptor_);
  ::unlink(partial_.c_str());  // of a program that had the same number and was ended between two steps
  if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, partial_.c_str(), AT_SYMLINK_FOLLOW) != 0) fail_with(errno);
  has_name_ = true;
}

std::filesystem::path NewFile::folder() const {
  return path_.has_parent_path() ? path_.parent_path() : ".";
}

// The new name is on the disk only when the folder is. Not every file system can say so.
void NewFile::sync_folder() const {
  const int descriptor = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

void NewFile::fail_with(int system_error) const {
  fail(ErrorCode::kIo, "{}: {}", shown(path_), std::strerror(system_error));
}

}  // namespace lockstep
