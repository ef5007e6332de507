// XXH3 with 128 bits over bytes that come in pieces; the same hash as receipts and model files have (canonical form).
// One thread.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace lockstep::verify {

class RunningHash {
 public:
  using Digest = std::array<unsigned char, sizeof(XXH128_canonical_t)>;

  RunningHash();

  void add(std::span<const std::byte> bytes) noexcept { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  template <typename T>
  void add_values(std::span<const T> values) noexcept {
    add(std::as_bytes(values));
  }

  // Of all since the beginning or the last reset().
  [[nodiscard]] Digest digest() const noexcept;
  [[nodiscard]] std::string hexadecimal() const;
  void reset() noexcept { XXH3_128bits_reset(state_.get()); }

 private:
  struct Freer {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Freer> state_;
};

}  // namespace lockstep::verify
