// One transformer layer.
#pragma once

#include <cstdint>

#include "exec/team.h"
#include "model/step.h"

namespace lockstep::model {

// Carries the residual stream work.x through layer `index`. Run by every member of the team; five meetings for a single
// row.
void layer(Step& step, int64_t index, exec::Member& me) noexcept;

}  // namespace lockstep::model
