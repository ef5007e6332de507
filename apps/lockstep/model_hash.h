// Hashes that say what an answer came from (the model file has its own: model/tensor_loader.h). Source of the hash:
// XXH3 128 bits with seed 0, canonical form (big-endian), as 32 hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

[[nodiscard]] std::string text_xxh128(std::string_view text);

}  // namespace lockstep
