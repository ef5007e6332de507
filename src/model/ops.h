// The operations that a layer is written in. Each is called by every member of the team with the same arguments and
// does that member's share; whoever calls decides where the team meets.
#pragma once

#include <span>

#include "exec/team.h"
#include "kernels/table.h"
#include "model/step.h"

namespace lockstep::model {

// RMS norm of the residual stream (step.work.x), prepared as input of products. For a single row every member makes its
// own copy (cheaper than a meeting); for more, the members share the rows and meet once.
kernels::Activations norm_quantize(const Step& step, const Vector& weight, int64_t layer, Site site,
                                   exec::Member& me) noexcept;

// The same without a norm, for rows [n_rows, width] that all members have finished.
kernels::Activations quantize(const Step& step, const float* x, int64_t width, int64_t layer, Site site,
                              exec::Member& me) noexcept;

// logits[t, r] = w x a, for this member's share of the vocabulary, which it returns (rows beyond the vocabulary are
// never computed).
exec::Range linear_logits(const Step& step, const Matrix& w, const kernels::Activations& a, exec::Member& me) noexcept;

// work.x[t, r] += w x a, for this member's rows r. `site` is the product's name.
void linear_add(const Step& step, const Matrix& w, const kernels::Activations& a, int64_t layer, Site site,
                exec::Member& me) noexcept;

// out[t, r] = w x a + bias, for given rows r: from a multiple of 16 on.
void linear_rows(const Step& step, const Matrix& w, const Vector& bias, const kernels::Activations& a, float* out,
                 exec::Range rows, exec::Member& me) noexcept;

// out[t, r] += bias[r], for given rows r; nothing where there is no bias.
void add_bias(const Step& step, const Vector& bias, float* out, exec::Range rows) noexcept;

// work.gate = silu(gate x a) * (up x a), for this member's rows.
void linear_gated(const Step& step, const Matrix& gate, const Matrix& up, const kernels::Activations& a, int64_t layer,
                  exec::Member& me) noexcept;

}  // namespace lockstep::model
