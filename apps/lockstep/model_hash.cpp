#include "model_hash.h"

#include <span>

#include "base/hash128.h"

namespace lockstep {

std::string text_xxh128(std::string_view text) {
  return hexadecimal(hash128(std::as_bytes(std::span(text))));
}

}  // namespace lockstep
