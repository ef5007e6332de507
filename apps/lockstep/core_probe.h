// What the cores themselves can do, away from memory: the clock, and multiply-adds of 8-bit integers and of fp32.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "exec/team.h"

namespace lockstep {

// The clock in GHz while all members work, their mean; from a chain of dependent additions, which no power management
// and no virtual machine can misreport. The best of some turns of a millisecond.
[[nodiscard]] double clock_ghz(exec::Team& team);

// Multiply-adds per second over 1e9, all members together, by instruction set (see probe_loops.h).
using Rates = std::vector<std::pair<std::string, double>>;
[[nodiscard]] Rates int8_rates(exec::Team& team);
[[nodiscard]] Rates fp32_rates(exec::Team& team);

}  // namespace lockstep
