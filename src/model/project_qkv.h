// The first half of self-attention: queries, keys and values of a layer, the rotation, and the cache.
#pragma once

#include <cstdint>

#include "exec/team.h"
#include "kernels/table.h"
#include "model/step.h"

namespace lockstep::model {

// work.q = rotated queries; keys (rotated) and values of the batch's rows go into their caches. Ends with the team's
// meeting.
void project_qkv(const Step& step, const LayerWeights& w, int64_t layer, const kernels::Activations& a,
                 exec::Member& me) noexcept;

}  // namespace lockstep::model
