#include "model/layer.h"

#include <algorithm>

#include "model/attention.h"
#include "model/experts.h"
#include "model/ops.h"
#include "model/project_qkv.h"

namespace lockstep::model {
namespace {

// After the last attention only the rows that want logits go on: they move to the front, in order.
void keep_wanted_rows(Step& step, exec::Member& me) noexcept {
  const Config& c = step.config();
  if (me.index() == 0) {
    for (int64_t i = 0; i < step.n_wanted; ++i) {
      const int64_t from = step.work.wanted[static_cast<size_t>(i)];
      if (from == i) continue;
      std::copy_n(step.work.x.data() + from * c.n_embd, c.n_embd, step.work.x.data() + i * c.n_embd);
      std::copy_n(step.work.heads.data() + from * c.q_width(), c.q_width(), step.work.heads.data() + i * c.q_width());
      if (step.observer == nullptr) continue;
      std::copy_n(step.work.product.data() + from * c.n_embd, c.n_embd, step.work.product.data() + i * c.n_embd);
    }
  }
  step.n_rows = step.n_wanted;
  me.sync();
}

// work.x += (or, where something becomes of it first, work.product =) the feed-forward of all tokens.
void feed_forward(const Step& step, const LayerWeights& w, const kernels::Activations& in, int64_t index,
                  exec::Member& me) noexcept {
  const Config& c = step.config();
  linear_gated(step, w.gate, w.up, in, index, me);
  me.sync();
  const Site activated = c.family->activation == Activation::kSilu ? kFfnHidden : kFfnHiddenGelu;
  const auto hidden = quantize(step, {step.work.gate.data(), c.n_ff}, index, activated, me);
  linear_add(step, w.down, hidden, index, kFfnOut, me);
}

}  // namespace

void layer(Step& step, int64_t index, exec::Member& me) noexcept {
  const Config& c = step.config();
  const LayerWeights& w = step.model.weights.layers[static_cast<size_t>(index)];
  Workspace& work = step.work;

  const auto attn_in = norm_quantize(step, w.attn_norm, index, kAttnNorm, me);
  project_qkv(step, w, index, attn_in, me);
  if (step.is_last_layer(index) && step.n_wanted == 0) return;  // the cache is complete, and nobody wants more
  attend(step, index, me);
  me.sync();
  const bool rows_end_here = step.is_last_layer(index) && step.n_wanted < step.n_rows;
  if (rows_end_here && step.observer == nullptr) keep_wanted_rows(step, me);

  const auto heads = quantize(step, {work.heads.data(), c.q_width()}, index, kAttnHeads, me);
  linear_add(step, w.attn_output, heads, index, kAttnOut, me);
  if (rows_end_here && step.observer != nullptr) keep_wanted_rows(step, me);  // it sees attn_out whole, as in llama.cpp
  add_product(step, w.attn_post_norm, index, kAttnPostNorm, me);
  me.sync();
  show(step, {c.family->trace.attn_added, index, work.x.data(), c.n_embd, c.n_embd}, me);

  const auto ffn_in = norm_quantize(step, w.ffn_norm, index, kFfnNorm, me);
  if (c.has_experts()) {
    mix_experts(step, w, ffn_in, index, me);
  } else {
    feed_forward(step, w, ffn_in, index, me);
  }
  add_product(step, w.ffn_post_norm, index, kFfnPostNorm, me);
  me.sync();
  show(step, {kLOut, index, work.x.data(), c.n_embd, c.n_embd}, me);
}

}  // namespace lockstep::model
