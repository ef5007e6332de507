// Hashes that say which model an answer came from. Source of the hash: XXH3 128 bits with seed 0, canonical form
// (big-endian), as 32 hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

#include "gguf/model_file.h"

namespace lockstep {

[[nodiscard]] std::string text_xxh128(std::string_view text);

// The hash of the concatenated hashes of the model's slices of 4 MiB, in file order, shards one after another: it can
// be computed by several readers. Reads the whole model.
[[nodiscard]] std::string tree_xxh128(const gguf::ModelFile& model);

}  // namespace lockstep
