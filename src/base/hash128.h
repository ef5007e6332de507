// XXH3 with 128 bits and seed 0, in canonical form (big-endian): the hash of model files, receipts, session files and
// bases (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct XXH3_state_s;

namespace lockstep {

using Hash128 = std::array<std::byte, 16>;

[[nodiscard]] Hash128 hash128(std::span<const std::byte> bytes) noexcept;

// 32 hexadecimal digits.
[[nodiscard]] std::string hexadecimal(const Hash128& hash);

// Of bytes that come in pieces. One thread.
class RunningHash128 {
 public:
  RunningHash128();

  void add(std::span<const std::byte> bytes) noexcept;
  template <typename T>
  void add_values(std::span<const T> values) noexcept {
    add(std::as_bytes(values));
  }

  // Of all since the beginning or the last reset().
  [[nodiscard]] Hash128 digest() const noexcept;
  void reset() noexcept;

 private:
  struct Freer {
    void operator()(XXH3_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH3_state_s, Freer> state_;
};

}  // namespace lockstep
