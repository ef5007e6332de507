// The forward pass: tokens in, logits out.
#pragma once

#include <span>

#include "exec/team.h"
#include "model/batch.h"
#include "model/model.h"
#include "model/observer.h"
#include "model/workspace.h"

namespace lockstep::model {

// Runs the batch through the model on the whole team. Fills the caches' new positions (the caller moves their length)
// and returns the logits [rows that want them, n_vocab] in the batch's order; they live in `work` until the next call.
// The bits depend on the model, the tokens of each row's sequence, compute mode and cache type only (NUMERICS.md).
// An observer sees every named tensor and changes no bit.
// Error kNotFinite naming the tensor where the first value that is not finite appeared.
std::span<const float> forward(const Model& model, Batch batch, Workspace& work, exec::Team& team,
                               Observer* observer = nullptr);

}  // namespace lockstep::model
