// Which kernel set runs: the best one that this CPU has, or the one that is asked for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/table.h"

namespace lockstep::kernels {

// Every set compiled into this binary that this CPU can run, best first. The last is always "scalar".
[[nodiscard]] std::span<const KernelTable* const> available_tables();

// The set "scalar": what defines the bits of all others.
[[nodiscard]] const KernelTable& definition_table();

// "f16", "f32", "q8_0".
[[nodiscard]] std::string_view to_string(CacheType type);

// "auto", the name of an available set, or of a family ("neon": the best of neon-...); otherwise Error kBadRequest
// listing those there are.
[[nodiscard]] const KernelTable& select_table(std::string_view isa);

}  // namespace lockstep::kernels
