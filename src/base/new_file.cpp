#include "base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace lockstep {
namespace {

std::string shown(const std::filesystem::path& path) {
  return printable(path.native(), 200);
}

constexpr uid_t kSameId = static_cast<uid_t>(-1);  // chown(2)

// Moving a file onto a device would replace the device.
void refuse_what_is_no_file(const std::filesystem::path& path) {
  if (path.empty()) fail(ErrorCode::kNotFound, "empty file name");
  if (path.native().find('\0') != std::string::npos)
    fail(ErrorCode::kNotFound, "{}: file name with a NUL byte", shown(path));
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    fail(ErrorCode::kBadFile, "{}: not a regular file", shown(path));
}

void refuse_another_kind(const std::filesystem::path& path, std::string_view magic) {
  const File file = File::open_for_reading(path);
  std::string beginning(std::min<uint64_t>(magic.size(), file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(beginning)));
  if (!beginning.empty() && beginning != magic)
    fail(ErrorCode::kBadFile, "{}: stands there and is a file of another kind: it is not replaced", shown(path));
}

// Through links, the file that they name is made or replaced and the links stay.
std::filesystem::path final_place(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as the system follows (path_resolution(7))
  const std::filesystem::path first = path;
  std::error_code error;
  for (int i = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error || i == kMostLinks)
      fail(ErrorCode::kIo, "{}: {}", shown(first), std::strerror(error ? error.value() : ELOOP));
    path = path.parent_path() / target;
  }
  return path;
}

// Gives the new file owner, group and mode of the one that it replaces. Where the group cannot be kept, its rights are
// those of everybody: they were meant for others than the new group has.
void keep_rights(int descriptor, const struct stat& replaced) {
  struct stat ours = {};
  if (::fstat(descriptor, &ours) != 0) return;
  mode_t mode = replaced.st_mode & 0777;
  // Another's file that we may replace but not give away becomes ours.
  if (ours.st_uid != replaced.st_uid) static_cast<void>(!::fchown(descriptor, replaced.st_uid, kSameId));
  const bool has_group = ours.st_gid == replaced.st_gid || ::fchown(descriptor, kSameId, replaced.st_gid) == 0;
  if (!has_group) mode = (mode & 0707) | ((mode & 07) << 3);
  static_cast<void>(::fchmod(descriptor, mode));  // a file system without modes
}

// Where a file without a name can be given one later (proc(5)).
constexpr const char* kDescriptors = "/proc/self/fd";

// A file in the folder without a name, so that the system removes it however the program ends; -1 where the file system
// or the system has no such files (open(2): O_TMPFILE).
int open_unnamed(const std::filesystem::path& folder, mode_t mode) {
  if (::access(kDescriptors, X_OK) != 0) return -1;
  return ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
}

}  // namespace

NewFile::NewFile(const std::filesystem::path& path, NewFileMode mode, std::string_view magic) {
  refuse_what_is_no_file(path);
  path_ = final_place(path);
  partial_ = path_;
  partial_ += ".partial-" + std::to_string(::getpid());
  struct stat replaced = {};
  const bool replaces = ::stat(path_.c_str(), &replaced) == 0;
  if (replaces && !magic.empty()) refuse_another_kind(path_, magic);
  open(replaces || mode == NewFileMode::kPrivate ? 0600 : 0666);
  if (replaces) keep_rights(descriptor_, replaced);
}

void NewFile::open(mode_t mode) {
  descriptor_ = open_unnamed(folder(), mode);
  has_name_ = descriptor_ < 0;
  if (has_name_) {
    ::unlink(partial_.c_str());  // of an earlier program with the same number
    descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  }
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

bool NewFile::has_place_of(const NewFile& other) const {
  std::error_code ignored;
  return path_.filename() == other.path_.filename() && std::filesystem::equivalent(folder(), other.folder(), ignored);
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
