// Hashes that say what an answer came from (the model file has its own: model/tensor_loader.h). See
// base/hash128.h.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

[[nodiscard]] std::string text_xxh128(std::string_view text);

}  // namespace lockstep
