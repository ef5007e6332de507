// For fuzz targets of files that end their parts with a checksum: changes of a good file, and the right sum for the
// result, since with random bytes alone the sum would refuse nearly everything.
#pragma once

#include <xxhash.h>

#include <cstring>
#include <string>

#include "fuzz/fuzz_input.h"

namespace lockstep::fuzz {

inline constexpr size_t kDigestBytes = 16;  // XXH3, 128 bits, canonical

// `bytes` with short pieces of the input written over it, until the input is used up.
inline std::string changed(std::string bytes, FuzzInput& input) {
  while (!input.empty()) {
    const size_t at = input.number<uint16_t>() % bytes.size();
    const std::string change = input.short_text();
    bytes.replace(at, change.size(), change);
  }
  return bytes;
}

// The file that an input stands for: by its first byte any bytes or changes of `good`, and with right checksums, which
// set_checksums(bytes) makes, or without.
template <typename SetChecksums>
std::string file_of(FuzzInput input, const std::string& good, const SetChecksums& set_checksums) {
  const auto kind = input.number<uint8_t>();
  std::string bytes = (kind & 1u) != 0 ? changed(good, input) : input.rest();
  if ((kind & 2u) != 0) set_checksums(bytes);
  return bytes;
}

// Makes the digest at `end` that of the bytes from `begin` to it; nothing when the file is too short for it.
inline void set_checksum(std::string& bytes, size_t begin, size_t end) {
  if (bytes.size() < kDigestBytes || end > bytes.size() - kDigestBytes) return;
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(&bytes[begin], end - begin));
  std::memcpy(&bytes[end], canonical.digest, kDigestBytes);
}

}  // namespace lockstep::fuzz
