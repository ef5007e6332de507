#include "base/hash128.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <new>

namespace lockstep {
namespace {

Hash128 canonical(XXH128_hash_t hash) noexcept {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Hash128 result;
  static_assert(sizeof(bytes.digest) == sizeof(Hash128));
  std::memcpy(result.data(), bytes.digest, result.size());
  return result;
}

}  // namespace

Hash128 hash128(std::span<const std::byte> bytes) noexcept {
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string hexadecimal(const Hash128& hash) {
  std::string digits;
  for (const std::byte byte : hash) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

RunningHash128::RunningHash128() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  reset();
}

void RunningHash128::add(std::span<const std::byte> bytes) noexcept {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

Hash128 RunningHash128::digest() const noexcept {
  return canonical(XXH3_128bits_digest(state_.get()));
}

void RunningHash128::reset() noexcept {
  XXH3_128bits_reset(state_.get());
}

void RunningHash128::Freer::operator()(XXH3_state_s* state) const noexcept {
  XXH3_freeState(state);
}

}  // namespace lockstep
