// The operations that a layer is written in. Each is called by every member of the team with the same arguments and
// does that member's share; whoever calls decides where the team meets.
#pragma once

#include <span>

#include "exec/team.h"
#include "kernels/table.h"
#include "model/step.h"

namespace lockstep::model {

// RMS norm of the residual stream (step.work.x; without a weight the stream itself), prepared as input of products. For
// a single row every member makes its own copy (cheaper than a meeting); for more, the members share the rows and meet
// once.
kernels::Activations norm_quantize(const Step& step, const Vector& weight, int64_t layer, Site site,
                                   exec::Member& me) noexcept;

// Rows [step.n_rows * per_token, width].
struct Rows {
  const float* x;
  int64_t width;
  int64_t per_token = 1;
};

// The same without a norm, for rows that all members have finished.
kernels::Activations quantize(const Step& step, const Rows& rows, int64_t layer, Site site, exec::Member& me) noexcept;

// logits[t, r] = w x a, for this member's share of the vocabulary, which it returns (rows beyond the vocabulary are
// never computed).
exec::Range linear_logits(const Step& step, const Matrix& w, const kernels::Activations& a, exec::Member& me) noexcept;

// The end of a branch of a layer, work.x[t, r] += w x a, for this member's rows r. Where something becomes of the
// product before it is added (Config::adds_apart), or an observer looks on, it goes into work.product, and add_product
// does the rest. `site` is the product's name.
void linear_add(const Step& step, const Matrix& w, const kernels::Activations& a, int64_t layer, Site site,
                exec::Member& me) noexcept;

// work.x += the norm (where `post_norm` is not empty) of work.product, times the residual scale: a share of this
// member's own. With a norm the team meets once.
void add_product(const Step& step, const Vector& post_norm, int64_t layer, Site site, exec::Member& me) noexcept;

// RMS norm in place of a tensor [n_rows, width], of vectors as long as the weight: this member's share of them.
struct NormInPlace {
  float* x;
  int64_t width;
  const Vector& weight;
  int64_t head_dim;    // for an observer: rows are heads of this size; 0: they are not
  int64_t layer;       // of the norm's name
  int64_t norm_layer;  // of the name before its weight
  Site site;
};
void norm_in_place(const Step& step, const NormInPlace& norm, exec::Member& me) noexcept;

// x[i] *= factor.
void multiply(float* x, int64_t n, float factor) noexcept;

// out[t, r] = w x a + bias, for given rows r: from a multiple of 16 on.
void linear_rows(const Step& step, const Matrix& w, const Vector& bias, const kernels::Activations& a, float* out,
                 exec::Range rows, exec::Member& me) noexcept;

// out[t, r] = w x a in compute mode exact, whatever the model's is.
void linear_rows_exact(const Step& step, const Matrix& w, const kernels::Activations& a, float* out, exec::Range rows,
                       exec::Member& me) noexcept;

// out[t, r] += bias[r], for given rows r; nothing where there is no bias.
void add_bias(const Step& step, const Vector& bias, float* out, exec::Range rows) noexcept;

// gate[t, r] = activation(gate[t, r]) * up[t, r], for given rows r of n_tokens tokens; both are [n_tokens, width].
struct GatedRows {
  float* gate;
  const float* up;
  int64_t width;
  int64_t n_tokens;
};
void activate(const Step& step, const GatedRows& gated, exec::Range rows) noexcept;

// work.gate = activation(gate x a) * (up x a), for this member's rows.
void linear_gated(const Step& step, const Matrix& gate, const Matrix& up, const kernels::Activations& a, int64_t layer,
                  exec::Member& me) noexcept;

}  // namespace lockstep::model
