// A mixture of experts (Shazeer et al. 2017, "Outrageously Large Neural Networks"): a router chooses for each token
// some of many feed-forwards, and their results are added with the router's weights.
#pragma once

#include <cstdint>

#include "exec/team.h"
#include "kernels/table.h"
#include "model/step.h"

namespace lockstep::model {

// work.x += (or, where something becomes of it first, work.product =) what the chosen experts make of `in`, a row for
// each of step.n_rows tokens. The rows are gathered by expert, so that each expert's weights are read once a batch;
// each token's results are added in the order in which the router ranks its experts, whatever was gathered with it. Run
// by every member. A single row costs two meetings, a batch five; where its caller meets next, work.x is complete.
void mix_experts(const Step& step, const LayerWeights& w, const kernels::Activations& in, int64_t layer,
                 exec::Member& me) noexcept;

}  // namespace lockstep::model
