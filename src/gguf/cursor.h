// Walks over the directory of a GGUF file front to back through a buffer of fixed size. Every read is compared with the
// bytes that are left before anything is allocated, and every refusal names the file and the record being read.
// Not thread-safe: one cursor, one reader.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace lockstep::gguf {

static_assert(std::endian::native == std::endian::little, "numbers of the file are copied as they are");

// The path as error messages show it.
std::string shown(const std::filesystem::path& path);

// What a message about the present position calls it: "header", `key 3 of 20`, `key "general.name", item 7`.
struct Place {
  std::string_view kind = "header";  // "key" or "tensor" further on
  uint64_t number = 0;               // from 1
  uint64_t count = 0;
  std::string name;                   // empty until it is known
  std::optional<uint64_t> item = {};  // of an array, from 0

  [[nodiscard]] std::string describe() const;
};

class Cursor {
 public:
  explicit Cursor(const File& file, uint64_t position = 0);

  [[nodiscard]] const File& file() const noexcept { return file_; }
  [[nodiscard]] uint64_t position() const noexcept { return buffer_start_ + next_; }
  [[nodiscard]] uint64_t bytes_left() const noexcept { return end_ - position(); }

  // The record being read, for messages.
  Place& place() noexcept { return place_; }
  void start_record(std::string_view kind, uint64_t index, uint64_t count);
  // The name of the record, which is held several times while the directory is read: 1 to 65,535 bytes, the most that
  // the specification of GGUF gives a key. `called` says "key" or "name" in a refusal.
  void read_name(std::string_view called);

  // The next number; `what` names it should the file end there.
  template <typename T>
  T number(std::string_view what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    if (filled_ - next_ >= sizeof(T)) {
      std::memcpy(&value, buffer_.data() + next_, sizeof(T));
      next_ += sizeof(T);
    } else {
      read(std::as_writable_bytes(std::span(&value, 1)), what);
    }
    return value;
  }
  // A u64 count of records of at least `record_bytes` each, as many as can still follow.
  uint64_t count(uint64_t record_bytes, std::string_view what);
  // A counted string: u64 length, bytes.
  void read_string(std::string& out, std::string_view what);
  uint64_t skip_string(std::string_view what);  // returns its length
  void read(std::span<std::byte> out, std::string_view what);
  void skip(uint64_t n, std::string_view what);

  template <typename... Args>
  [[noreturn]] void refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) const {
    fail(code, "{}: {}: {}", shown(file_.path()), place_.describe(), fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void need(uint64_t n, std::string_view what) const;
  [[noreturn]] void refuse_size(std::string_view what) const;
  void refill();

  const File& file_;
  uint64_t end_;
  std::vector<std::byte> buffer_;
  uint64_t buffer_start_;
  size_t next_ = 0;
  size_t filled_ = 0;
  Place place_;
};

}  // namespace lockstep::gguf
