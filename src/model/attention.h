// Self-attention of a layer: queries, keys and values, the rotation, the cache, and the heads.
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

// work.heads = softmax(q k^T * scale) v over all positions up to each row's own. This member's share.
void attend(const Step& step, int64_t layer, exec::Member& me) noexcept;

}  // namespace lockstep::model
