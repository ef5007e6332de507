// Working memory that is sized once: arrays are cut from one region, and nothing is freed before the whole is.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/buffer.h"
#include "base/checked.h"

namespace lockstep::exec {

// What an array takes of an arena.
template <typename T>
[[nodiscard]] constexpr uint64_t array_bytes(int64_t n) {
  return round_up(static_cast<uint64_t>(n) * sizeof(T), uint64_t{64});
}

class Arena {
 public:
  // Room for `bytes`, counting each array as round_up(its bytes, 64).
  Arena(uint64_t bytes, std::string_view purpose) : buffer_(bytes, purpose) {}

  static constexpr uint64_t kAlignment = 64;

  // n zeroed elements at a cache-line boundary. The sizes asked for must add up to at most what the arena was made for.
  template <typename T>
  std::span<T> take(int64_t n) noexcept {
    const uint64_t bytes = round_up(static_cast<uint64_t>(n) * sizeof(T), kAlignment);
    auto* first = reinterpret_cast<T*>(buffer_.data() + used_);
    used_ += bytes;
    return {first, static_cast<size_t>(n)};
  }

  [[nodiscard]] uint64_t used() const noexcept { return used_; }
  [[nodiscard]] uint64_t size() const noexcept { return buffer_.size(); }

 private:
  Buffer buffer_;
  uint64_t used_ = 0;
};

}  // namespace lockstep::exec
