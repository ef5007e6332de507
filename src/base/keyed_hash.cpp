#include "base/keyed_hash.h"

#include <xxhash.h>

#include <chrono>
#include <exception>
#include <random>

namespace lockstep {
namespace {

uint64_t draw() {
  try {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  } catch (const std::exception&) {
    // A machine without a source of random numbers: still not the same from run to run.
    const auto time = std::chrono::steady_clock::now().time_since_epoch().count();
    return static_cast<uint64_t>(time) ^ reinterpret_cast<uintptr_t>(&time) << 20;
  }
}

}  // namespace

uint64_t process_hash_key() {
  static const uint64_t key = draw();
  return key;
}

size_t TextHash::operator()(std::string_view text) const noexcept {
  return XXH3_64bits_withSeed(text.data(), text.size(), key_);
}

}  // namespace lockstep
