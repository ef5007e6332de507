// Hashes for tables whose keys come from outside: the texts of a vocabulary, the fields of a request. std::hash is the
// same in every process, so that a file can be made whose keys all fall on one place; these depend on a key that is
// drawn once per process. Nothing may depend on the order of such a table. Safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep {

// The random number of this process, the same at each call.
[[nodiscard]] uint64_t process_hash_key();

// XXH3 with the key as its seed. For the unordered containers too: find() of a std::string table takes a view when the
// comparison is std::equal_to<>.
class TextHash {
 public:
  using is_transparent = void;

  TextHash() : TextHash(process_hash_key()) {}
  explicit TextHash(uint64_t key) noexcept : key_(key) {}

  [[nodiscard]] size_t operator()(std::string_view text) const noexcept;

 private:
  uint64_t key_;
};

// Of a number. The upper bits are the ones to use. A multiplication by a random odd number lets two numbers agree in
// their upper bits no more often than chance (Dietzfelbinger et al., "A reliable randomized algorithm for the
// closest-pair problem", 1997); the key before it hides their differences too.
class NumberHash {
 public:
  NumberHash() : NumberHash(process_hash_key()) {}
  explicit NumberHash(uint64_t key) noexcept : key_(key), factor_(key * kGolden | 1) {}

  [[nodiscard]] uint64_t operator()(uint64_t number) const noexcept {
    const uint64_t mixed = (number ^ key_) * kGolden;
    return (mixed ^ mixed >> 32) * factor_;
  }

 private:
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;  // 2^64 divided by the golden ratio

  uint64_t key_;
  uint64_t factor_;
};

}  // namespace lockstep
