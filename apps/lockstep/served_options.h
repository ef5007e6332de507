// The options of a request at the moment it is served.
#pragma once

#include "generation_options.h"

namespace lockstep {

// With a seed, drawn at random where none is asked for. Error kBadRequest for what this model cannot give.
[[nodiscard]] engine::GenerateOptions served_options(const GenerationSettings& settings, const engine::Engine& engine);

}  // namespace lockstep
