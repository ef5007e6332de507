// For tests only: regular files in memory, by names that this process can open. Their bytes may be changed between uses
// without touching a disk. Linux. Not thread-safe.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lockstep::forge {

class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("lockstep-test", MFD_CLOEXEC)) { check(descriptor_); }
  explicit MemoryFile(std::string_view bytes) : MemoryFile() { set(bytes); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  [[nodiscard]] std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  void set(std::string_view bytes) {
    resize(0);
    write(0, bytes);
  }
  // Bytes beyond the end before are zero, and take no memory.
  void resize(uint64_t size) { check(::ftruncate(descriptor_, static_cast<off_t>(size))); }
  void write(uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      check(n);
      bytes.remove_prefix(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
  }

 private:
  static void check(ssize_t result) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), "a file in memory");
  }

  int descriptor_;
};

// Files in memory with the names that the shards of one split model have: links in a folder of this process's own.
class MemoryShards {
 public:
  explicit MemoryShards(size_t count) {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-shards-XXXXXX").native();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "a folder for shards");
    folder_ = pattern;
    for (size_t i = 0; i < count; ++i) files_.push_back(std::make_unique<MemoryFile>());
  }
  MemoryShards(const MemoryShards&) = delete;
  MemoryShards& operator=(const MemoryShards&) = delete;
  ~MemoryShards() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] size_t count() const { return files_.size(); }
  [[nodiscard]] std::filesystem::path path(size_t i) const {
    char name[40];
    std::snprintf(name, sizeof(name), "m-%05zu-of-%05zu.gguf", i + 1, count());
    return folder_ / name;
  }
  void set(size_t i, std::string_view bytes) {
    files_[i]->set(bytes);
    if (!std::filesystem::exists(path(i))) std::filesystem::create_symlink(files_[i]->path(), path(i));
  }
  void remove(size_t i) { std::filesystem::remove(path(i)); }

 private:
  std::filesystem::path folder_;
  std::vector<std::unique_ptr<MemoryFile>> files_;
};

}  // namespace lockstep::forge
