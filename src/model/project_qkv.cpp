#include "model/project_qkv.h"

#include <array>

#include "base/exp64.h"
#include "kernels/packed.h"
#include "model/ops.h"

namespace lockstep::model {
namespace {

// The heads of Q, K and V as one list: 0..n_heads-1 queries, then keys, then values.
struct HeadRef {
  enum Kind { kQuery, kKey, kValue } kind;
  int64_t index;
};

int64_t n_listed_heads(const Config& c) {
  return c.n_heads + 2 * c.n_kv_heads;
}

HeadRef listed_head(const Config& c, int64_t i) {
  if (i < c.n_heads) return {HeadRef::kQuery, i};
  if (i < c.n_heads + c.n_kv_heads) return {HeadRef::kKey, i - c.n_heads};
  return {HeadRef::kValue, i - c.n_heads - c.n_kv_heads};
}

// Positions beyond the original context ask more sharply (a scalable softmax: Nakanishi 2025); the formula is
// llama.cpp's.
void warm_query(const Step& step, int64_t row, int64_t head) noexcept {
  const Config& c = step.config();
  if (c.query_temperature == 0.0f) return;
  const int64_t n_before = step.batch[static_cast<size_t>(row)].position / c.original_context;
  const double factor = 1.0 + double{c.query_temperature} * log64(1.0 + static_cast<double>(n_before));
  multiply(step.work.q.data() + row * c.q_width() + head * c.head_dim, c.head_dim, static_cast<float>(factor));
}

// What a head of one row still needs after its product, bias and, where `normed`, its norm: the norm, the rotation, its
// place in the cache.
void finish_head(const Step& step, int64_t layer, int64_t row, HeadRef head, bool normed) noexcept {
  const Config& c = step.config();
  const BatchRow& entry = step.batch[static_cast<size_t>(row)];
  const float* cos_sin = step.work.cos_sin.data() + row * c.n_angles() + c.first_angle(layer);
  const auto cache_type = static_cast<int>(step.model.cache_type);
  const LayerWeights& w = step.model.weights.layers[static_cast<size_t>(layer)];
  const auto rotate = [&](float* data, const Vector& norm) {
    if (!normed && !norm.empty()) step.kernels().rms_norm(data, norm.data(), c.head_dim, c.rms_eps, data);
    if (c.is_rotated(layer)) step.kernels().rope(data, cos_sin, c.rope.n_rot, c.family->pairing);
  };
  const int64_t chunk = entry.position / kernels::kChunk;
  switch (head.kind) {
    case HeadRef::kQuery:
      rotate(step.work.q.data() + row * c.q_width() + head.index * c.head_dim, w.q_norm);
      if (step.observer == nullptr) warm_query(step, row, head.index);
      break;
    case HeadRef::kKey: {
      float* k = step.work.k.data() + row * c.kv_width() + head.index * c.head_dim;
      rotate(k, w.k_norm);
      step.kernels().append_k[cache_type](entry.cache->k(chunk, layer, head.index), entry.position % kernels::kChunk, k,
                                          c.head_dim);
      break;
    }
    case HeadRef::kValue: {
      const float* v = step.work.v.data() + row * c.kv_width() + head.index * c.head_dim;
      step.kernels().append_v[cache_type](entry.cache->v(chunk, layer, head.index), entry.position % kernels::kChunk, v,
                                          c.head_dim);
      break;
    }
  }
}

struct Projection {
  const Matrix& matrix;
  const Vector& bias;
  const Vector* norm;  // null: none
  float* out;
  Site site;
  Site normed_site;
};

Projection projection(const Step& step, const LayerWeights& w, HeadRef::Kind kind) noexcept {
  switch (kind) {
    case HeadRef::kQuery:
      return {w.q, w.q_bias, &w.q_norm, step.work.q.data(), kQcur, kQcurNormed};
    case HeadRef::kKey:
      return {w.k, w.k_bias, &w.k_norm, step.work.k.data(), kKcur, kKcurNormed};
    default:
      return {w.v, w.v_bias, nullptr, step.work.v.data(), kVcur, kVcur};
  }
}

// One row, at least as many heads as members: whoever makes a head also rotates and appends it, and the team meets
// once.
void project_by_heads(const Step& step, const LayerWeights& w, int64_t layer, const kernels::Activations& a,
                      exec::Member& me) noexcept {
  const Config& c = step.config();
  const exec::Range mine = me.range(n_listed_heads(c));
  for (int64_t i = mine.begin; i < mine.end; ++i) {
    const HeadRef head = listed_head(c, i);
    const Projection p = projection(step, w, head.kind);
    linear_rows(step, p.matrix, p.bias, a, p.out, {head.index * c.head_dim, (head.index + 1) * c.head_dim}, me);
    finish_head(step, layer, 0, head, false);
  }
  me.sync();
}

// The norm of queries, or keys, that is not a matter of each head's own.
void norm_projection(const Step& step, const Projection& p, int64_t layer, exec::Member& me) noexcept {
  if (p.norm == nullptr || p.norm->empty()) return;
  const Config& c = step.config();
  const int64_t shown_head = c.family->qk_norm == QkNorm::kEachHead ? c.head_dim : 0;
  norm_in_place(step, {p.out, p.matrix.data.n_rows, *p.norm, shown_head, layer, layer, p.normed_site}, me);
  me.sync();
}

// Otherwise the products are shared out by rows, and rotation and appending are a phase of their own, shared out by
// (row, head).
void project_by_rows(const Step& step, const LayerWeights& w, int64_t layer, const kernels::Activations& a,
                     exec::Member& me) noexcept {
  const Config& c = step.config();
  for (const auto kind : {HeadRef::kQuery, HeadRef::kKey, HeadRef::kValue}) {
    const Projection p = projection(step, w, kind);
    linear_rows(step, p.matrix, p.bias, a, p.out, me.range(p.matrix.data.n_rows, kernels::kRowsPerGroup), me);
  }
  me.sync();
  const bool norm_rows = c.family->qk_norm == QkNorm::kWholeRow;
  if (norm_rows) {
    norm_projection(step, projection(step, w, HeadRef::kQuery), layer, me);
    norm_projection(step, projection(step, w, HeadRef::kKey), layer, me);
  }
  const int64_t n_heads = n_listed_heads(c);
  const exec::Range mine = me.range(step.n_rows * n_heads);
  for (int64_t i = mine.begin; i < mine.end; ++i)
    finish_head(step, layer, i / n_heads, listed_head(c, i % n_heads), norm_rows);
  me.sync();
}

// For an observer: one matrix after the other, in llama.cpp's order (another one with windows), each in its parts.
void project_in_parts(const Step& step, const LayerWeights& w, int64_t layer, const kernels::Activations& a,
                      exec::Member& me) noexcept {
  const Config& c = step.config();
  const std::array order = {HeadRef::kQuery, HeadRef::kValue, HeadRef::kKey};
  const std::array order_with_windows = {HeadRef::kQuery, HeadRef::kKey, HeadRef::kValue};
  for (const auto kind : c.window > 0 ? order_with_windows : order) {
    const Projection p = projection(step, w, kind);
    const int64_t width = p.matrix.data.n_rows;
    const exec::Range rows = me.range(width, kernels::kRowsPerGroup);
    linear_rows(step, p.matrix, {}, a, p.out, rows, me);
    show(step, {p.site, layer, p.out, width, width}, me);
    add_bias(step, p.bias, p.out, rows);
    if (!p.bias.empty()) show(step, {p.site, layer, p.out, width, width, "ADD"}, me);
    me.sync();
    norm_projection(step, p, layer, me);
    const int64_t n_heads = width / c.head_dim;
    const exec::Range mine = me.range(step.n_rows * n_heads);
    for (int64_t i = mine.begin; i < mine.end; ++i) finish_head(step, layer, i / n_heads, {kind, i % n_heads}, true);
    if (kind != HeadRef::kValue && c.is_rotated(layer))
      show(step, {p.site, layer, p.out, width, width, "ROPE", c.head_dim}, me);
    if (kind != HeadRef::kQuery || c.query_temperature == 0.0f) continue;
    for (int64_t i = mine.begin; i < mine.end; ++i) warm_query(step, i / n_heads, i % n_heads);
    show(step, {kQcurWarmed, layer, p.out, width, width, {}, c.head_dim}, me);
  }
  me.sync();
}

}  // namespace

void project_qkv(const Step& step, const LayerWeights& w, int64_t layer, const kernels::Activations& a,
                 exec::Member& me) noexcept {
  if (step.observer != nullptr) {
    project_in_parts(step, w, layer, a, me);
    return;
  }
  const bool heads_are_groups = step.config().head_dim % kernels::kRowsPerGroup == 0;
  const bool heads_are_alone = heads_are_groups && step.config().family->qk_norm != QkNorm::kWholeRow;
  if (step.n_rows == 1 && heads_are_alone && me.count() <= n_listed_heads(step.config())) {
    project_by_heads(step, w, layer, a, me);
  } else {
    project_by_rows(step, w, layer, a, me);
  }
}

}  // namespace lockstep::model
