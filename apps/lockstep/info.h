// `lockstep info`: what a GGUF file holds, for scripts and for people. Pure functions of an open file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gguf/model_file.h"

namespace lockstep {

// The object that `info MODEL --json` prints. f32 values are given as the double of equal value, non-finite ones as
// null. Text that is not valid UTF-8 has U+FFFD in place of the bad bytes. Arrays of more than 16 items are cut unless
// `full`. A model in several files also has `shards` (path and data_start) and each tensor the number of its shard,
// from 0.
nlohmann::ordered_json info_json(const gguf::ModelFile& model, bool full);

// The same for people, in lines: long values cut, control bytes escaped.
// `more` is further sections, shown before the sizes.
[[nodiscard]] std::string info_text(const gguf::ModelFile& model, const std::string& more);

}  // namespace lockstep
