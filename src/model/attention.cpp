#include "model/attention.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/packed.h"
#include "model/ops.h"

namespace lockstep::model {
namespace {

using kernels::AttentionPartial;
using kernels::kChunk;

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
  const int64_t chunk = entry.position / kChunk;
  switch (head.kind) {
    case HeadRef::kQuery:
      rotate(step.work.q.data() + row * c.q_width() + head.index * c.head_dim, w.q_norm);
      break;
    case HeadRef::kKey: {
      float* k = step.work.k.data() + row * c.kv_width() + head.index * c.head_dim;
      rotate(k, w.k_norm);
      step.kernels().append_k[cache_type](entry.cache->k(chunk, layer, head.index), entry.position % kChunk, k,
                                          c.head_dim);
      break;
    }
    case HeadRef::kValue: {
      const float* v = step.work.v.data() + row * c.kv_width() + head.index * c.head_dim;
      step.kernels().append_v[cache_type](entry.cache->v(chunk, layer, head.index), entry.position % kChunk, v,
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
  }
  me.sync();
}

// The query heads of one row that share a KV head.
class Group {
 public:
  Group(const Step& step, int64_t layer, int64_t row, int64_t kv_head)
      : step_(step), layer_(layer), entry_(step.batch[static_cast<size_t>(row)]), kv_head_(kv_head) {
    const Config& c = step.config();
    offset_ = row * c.q_width() + kv_head * c.n_group() * c.head_dim;
    first_position_ = c.first_attended(layer, entry_.position);
  }

  // The chunks that are attended to: from the first on, below n_chunks.
  [[nodiscard]] int64_t first_chunk() const { return first_position_ / kChunk; }
  [[nodiscard]] int64_t n_chunks() const { return entry_.position / kChunk + 1; }
  [[nodiscard]] float* out() const { return step_.work.heads.data() + offset_; }

  // partial [n_group], o [n_group, head_dim]. `more`: the caller goes on with the following chunk.
  void attend_chunk(int64_t chunk, bool more, AttentionPartial* partial, float* o) const noexcept {
    const Config& c = step_.config();
    const int64_t n_positions = std::min(kChunk, entry_.position + 1 - chunk * kChunk);
    const kernels::AttentionJob job = {step_.work.q.data() + offset_,
                                       c.n_group(),
                                       c.head_dim,
                                       entry_.cache->k(chunk, layer_, kv_head_),
                                       entry_.cache->v(chunk, layer_, kv_head_),
                                       n_positions,
                                       c.attention_scale,
                                       more ? entry_.cache->k(chunk + 1, layer_, kv_head_) : nullptr,
                                       std::max(int64_t{0}, first_position_ - chunk * kChunk),
                                       c.attn_softcap};
    step_.kernels().attend_chunk[static_cast<int>(step_.model.cache_type)](job, partial, o);
  }

 private:
  const Step& step_;
  int64_t layer_;
  const BatchRow& entry_;
  int64_t kv_head_;
  int64_t offset_;
  int64_t first_position_;
};

// All chunks of a group, in order, by one member.
void attend_whole(const Step& step, const Group& group) noexcept {
  const Config& c = step.config();
  AttentionPartial total[kernels::kMaxGroup];
  AttentionPartial part[kernels::kMaxGroup];
  alignas(64) float o[kernels::kMaxGroup * kernels::kMaxHeadDim];
  const int64_t first = group.first_chunk();
  const int64_t n_chunks = group.n_chunks();
  group.attend_chunk(first, n_chunks > first + 1, total, group.out());
  for (int64_t chunk = first + 1; chunk < n_chunks; ++chunk) {
    group.attend_chunk(chunk, chunk + 1 < n_chunks, part, o);
    for (int64_t g = 0; g < c.n_group(); ++g) {
      step.kernels().merge_chunk(total[g], group.out() + g * c.head_dim, part[g], o + g * c.head_dim, c.head_dim);
    }
  }
  for (int64_t g = 0; g < c.n_group(); ++g)
    step.kernels().finish_attention(total[g], group.out() + g * c.head_dim, c.head_dim);
}

// Few rows: units are (row, KV head, run of chunks), drawn by ticket. The results wait in memory, and whoever ends the
// last chunk of a group merges them in ascending order, as attend_whole does.
class SplitAttention {
 public:
  SplitAttention(const Step& step, int64_t layer) : step_(step), c_(step.config()), layer_(layer) {
    first_chunk_ = std::numeric_limits<int64_t>::max();
    for (const BatchRow& row : step.batch) {
      n_chunks_ = std::max(n_chunks_, row.position / kChunk + 1);
      first_chunk_ = std::min(first_chunk_, c_.first_attended(layer, row.position) / kChunk);
    }
  }

  [[nodiscard]] int64_t n_chunks() const { return n_chunks_; }

  void run(exec::Member& me) const noexcept {
    const int64_t n_groups = step_.n_rows * c_.n_kv_heads;
    const int64_t n_chunks = n_chunks_ - first_chunk_;
    const int64_t length = std::clamp(n_groups * n_chunks / (kRunsPerMember * me.count()), int64_t{1}, kLongestRun);
    const int64_t n_runs = (n_chunks + length - 1) / length;
    for (int64_t unit = me.next(); unit < n_groups * n_runs; unit = me.next()) {
      const int64_t row = unit / n_runs / c_.n_kv_heads;
      const int64_t kv_head = unit / n_runs % c_.n_kv_heads;
      const Group group(step_, layer_, row, kv_head);
      const int64_t begin = first_chunk_ + unit % n_runs * length;
      const int64_t end = std::min(begin + length, group.n_chunks());
      for (int64_t chunk = std::max(begin, group.first_chunk()); chunk < end; ++chunk)
        attend_one(group, row, kv_head, chunk, chunk + 1 < end);
    }
  }

 private:
  // Runs are short enough to even out the members' loads, and long enough that most chunks know which follows.
  static constexpr int64_t kRunsPerMember = 8;
  static constexpr int64_t kLongestRun = 8;

  // Results are stored [row, KV head, chunk, group].
  [[nodiscard]] int64_t slot(int64_t row, int64_t kv_head, int64_t chunk) const {
    return ((row * c_.n_kv_heads + kv_head) * step_.work.max_chunks + chunk) * c_.n_group();
  }

  void attend_one(const Group& group, int64_t row, int64_t kv_head, int64_t chunk, bool more) const noexcept {
    const int64_t mine = slot(row, kv_head, chunk);
    group.attend_chunk(chunk, more, step_.work.partial.data() + mine, step_.work.partial_o.data() + mine * c_.head_dim);
    std::atomic<int64_t>& done = step_.work.chunks_done[static_cast<size_t>(row * c_.n_kv_heads + kv_head)];
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 < group.n_chunks() - group.first_chunk()) return;
    done.store(0, std::memory_order_relaxed);
    merge(group, row, kv_head);
  }

  void merge(const Group& group, int64_t row, int64_t kv_head) const noexcept {
    for (int64_t g = 0; g < c_.n_group(); ++g) {
      float* out = group.out() + g * c_.head_dim;
      const int64_t first = slot(row, kv_head, group.first_chunk()) + g;
      AttentionPartial total = step_.work.partial[static_cast<size_t>(first)];
      std::copy_n(step_.work.partial_o.data() + first * c_.head_dim, c_.head_dim, out);
      for (int64_t chunk = group.first_chunk() + 1; chunk < group.n_chunks(); ++chunk) {
        const int64_t next = slot(row, kv_head, chunk) + g;
        step_.kernels().merge_chunk(total, out, step_.work.partial[static_cast<size_t>(next)],
                                    step_.work.partial_o.data() + next * c_.head_dim, c_.head_dim);
      }
      step_.kernels().finish_attention(total, out, c_.head_dim);
    }
  }

  const Step& step_;
  const Config& c_;
  int64_t layer_;
  int64_t first_chunk_ = 0;
  int64_t n_chunks_ = 1;
};

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

void attend(const Step& step, int64_t layer, exec::Member& me) noexcept {
  const SplitAttention split(step, layer);
  if (step.n_rows <= step.work.max_split_rows && split.n_chunks() <= step.work.max_chunks) {
    split.run(me);
    return;
  }
  const int64_t n_kv_heads = step.config().n_kv_heads;
  const int64_t n_groups = step.n_rows * n_kv_heads;
  for (int64_t i = me.next(); i < n_groups; i = me.next())
    attend_whole(step, Group(step, layer, i / n_kv_heads, i % n_kv_heads));
}

}  // namespace lockstep::model
