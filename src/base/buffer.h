// A large zeroed memory region from the operating system: 2 MiB pages where it can have them, given back as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep {

// What a large region is given in where the system can.
inline constexpr uint64_t kHugePage = uint64_t{2} << 20;

class Buffer {
 public:
  Buffer() = default;
  // `bytes` zeroed bytes, aligned to 64 at least (2 MiB for regions of that size). Error kNoMemory naming `purpose` and
  // the bytes wanted, also for what the machine or a control group has no room for (base/memory.h).
  Buffer(uint64_t bytes, std::string_view purpose);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_, size_}; }

 private:
  void* mapping_ = nullptr;
  uint64_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

// Has the system give the pages of a part of a region now, whatever they hold: at their first use it clears them, which
// takes a millisecond or more for 2 MiB.
void commit_pages(std::span<std::byte> part) noexcept;

}  // namespace lockstep
