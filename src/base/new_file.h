// A file that comes into being as a whole or not at all: it is written beside its place, flushed to the disk and then
// moved there. Where the system can (Linux, the usual file systems), it has no name until it is complete, so that
// nothing is left of it even when the program is killed. Belongs to one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace lockstep {

// Who may read a file where none stood before. One that is replaced keeps its mode, owner and group.
enum class NewFileMode {
  kByUmask,
  kPrivate,  // its owner alone
};

class NewFile {
 public:
  // Begins a file that is to stand at `path`, or where the link of that name points. What stands there must be a
  // regular file or nothing; where `magic` is given, an empty one or one that begins so: what is saved under a mistaken
  // name takes no other file's place. Errors of all: kIo naming the file and what the system said; kBadFile for a
  // folder, device or the like, and for a file of another kind.
  explicit NewFile(const std::filesystem::path& path, NewFileMode mode = NewFileMode::kByUmask,
                   std::string_view magic = {});
  ~NewFile();  // without commit(), nothing is left and `path` is as it was
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // At the end.
  void write(std::span<const std::byte> bytes);

  // The file is complete: onto the disk and to its place. Once.
  void commit();

  // Whether both are to stand in one place, whatever they were called: the second would replace the first.
  [[nodiscard]] bool has_place_of(const NewFile& other) const;

 private:
  [[noreturn]] void fail_with(int system_error) const;
  void open(mode_t mode);
  void give_name();
  void sync_folder() const;
  [[nodiscard]] std::filesystem::path folder() const;

  std::filesystem::path path_;
  std::filesystem::path partial_;  // its name until it is complete
  bool has_name_ = false;
  int descriptor_ = -1;
};

}  // namespace lockstep
