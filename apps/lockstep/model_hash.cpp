#include "model_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace lockstep {

std::string text_xxh128(std::string_view text) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), text.size()));
  std::string digits;
  for (const unsigned char byte : canonical.digest) digits += fmt::format("{:02x}", byte);
  return digits;
}

}  // namespace lockstep
