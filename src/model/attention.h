// The second half of self-attention: what the heads find in the cache.
#pragma once

#include <cstdint>

#include "exec/team.h"
#include "model/step.h"

namespace lockstep::model {

// work.heads = softmax(q k^T * scale) v over all positions up to each row's own. This member's share.
void attend(const Step& step, int64_t layer, exec::Member& me) noexcept;

}  // namespace lockstep::model
