#include "verify/running_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace lockstep::verify {

RunningHash::RunningHash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  reset();
}

RunningHash::Digest RunningHash::digest() const noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
  Digest digest;
  std::copy_n(canonical.digest, digest.size(), digest.begin());
  return digest;
}

std::string RunningHash::hexadecimal() const {
  std::string text;
  for (const unsigned char byte : digest()) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace lockstep::verify
