#include "model/experts.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/exp64.h"
#include "model/ops.h"

namespace lockstep::model {
namespace {

constexpr int64_t kRowUnit = 16;
// For fewer tokens a matrix costs what reading it does: as much as multiplying this many.
constexpr int64_t kTokensWorthReading = 8;
constexpr float kSmallestSum = 0x1p-14f;  // that weights are divided by, as in llama.cpp

// Rows [step.n_rows, ...] of a single row at each member, of a batch in common.
struct Routing {
  float* probabilities;
  int32_t* chosen;  // best first
  float* weights;
  exec::Range mine;  // the rows that this member routes
};

Routing routing(const Step& step, exec::Member& me) noexcept {
  const ExpertWorkspace& space = step.work.experts;
  if (step.n_rows > 1) return {space.scores.data(), space.chosen.data(), space.weights.data(), me.range(step.n_rows)};
  const ExpertWorkspace::Own& own = space.own[static_cast<size_t>(me.index())];
  return {own.probabilities.data(), own.chosen.data(), own.weights.data(), {0, 1}};
}

// out may be logits.
void softmax(const float* logits, int64_t n, float* out) noexcept {
  const double largest = double{*std::max_element(logits, logits + n)};
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(exp64(double{logits[i]} - largest));
    sum += double{out[i]};
  }
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(double{out[i]} / sum);
}

// The n_chosen largest of n, best first, of equal ones the lower first. Whatever the numbers are, NaN too: n_chosen
// different ones.
void choose(const float* p, int32_t n, int64_t n_chosen, int32_t* chosen) noexcept {
  for (int32_t i = 0; i < n; ++i) {
    if (i >= n_chosen && !(p[i] > p[chosen[n_chosen - 1]])) continue;
    int64_t at = std::min(int64_t{i}, n_chosen - 1);
    for (; at > 0 && p[i] > p[chosen[at - 1]]; --at) chosen[at] = chosen[at - 1];
    chosen[at] = i;
  }
}

float sum_of(const float* weights, int64_t n) noexcept {
  float sum = weights[0];
  for (int64_t i = 1; i < n; ++i) sum += weights[i];
  return sum;
}

float divisor(float sum) noexcept {
  return sum > kSmallestSum ? sum : kSmallestSum;
}

void normalize(float* weights, int64_t n, float scale) noexcept {
  const float sum = divisor(sum_of(weights, n));
  for (int64_t i = 0; i < n; ++i) weights[i] /= sum;
  if (scale != 1.0f) multiply(weights, n, scale);
}

// The router's logits: of a single row all members', in rows of the matrix; of a batch each member's own, in tokens.
void score(const Step& step, const Matrix& router, const kernels::Activations& in, int64_t layer,
           exec::Member& me) noexcept {
  const int64_t n = step.config().n_experts;
  float* scores = step.work.experts.scores.data();
  if (step.n_rows == 1) {
    linear_rows_exact(step, router, in, scores, me.range(n, kRowUnit), me);
    me.sync();
  } else {
    const exec::Range mine = me.range(step.n_rows);
    linear_rows_exact(step, router, part_of(in, mine.begin, mine.end), scores + mine.begin * n, {0, n}, me);
  }
  show(step, {kFfnMoeLogits, layer, scores, n, n}, me);
}

// As numbers like all others, in memory that has no other use yet.
void show_chosen(const Step& step, const Routing& r, int64_t layer, exec::Member& me) noexcept {
  if (step.observer == nullptr) return;
  const int64_t n_used = step.config().n_experts_used;
  me.sync();
  float* ids = step.work.experts.results.data();
  if (me.index() == 0) std::copy_n(r.chosen, step.n_rows * n_used, ids);
  show(step, {kFfnMoeTopk, layer, ids, n_used, n_used}, me);
}

// What the weights are divided by. (Their order over all experts, llama.cpp's ffn_moe_argsort, is not shown: two that
// hardly differ and are not chosen may stand either way.)
void show_sums(const Step& step, const Routing& r, int64_t layer, exec::Member& me) noexcept {
  if (step.observer == nullptr) return;
  const int64_t n_used = step.config().n_experts_used;
  float* sums = step.work.experts.results.data();
  const exec::Range rows = me.index() == 0 ? exec::Range{0, step.n_rows} : exec::Range{0, 0};
  for (int64_t t = rows.begin; t < rows.end; ++t) sums[t] = sum_of(r.weights + t * n_used, n_used);
  show(step, {kFfnMoeWeightsSum, layer, sums, 1, 1}, me);
  for (int64_t t = rows.begin; t < rows.end; ++t) sums[t] = divisor(sums[t]);
  show(step, {kFfnMoeWeightsSumClamped, layer, sums, 1, 1}, me);
}

// Which experts a row goes through, and with which weights. A batch: with a meeting.
Routing route(const Step& step, const Matrix& router, const kernels::Activations& in, int64_t layer,
              exec::Member& me) noexcept {
  const Config& c = step.config();
  const int64_t n = c.n_experts;
  const int64_t n_used = c.n_experts_used;
  const Routing r = routing(step, me);
  score(step, router, in, layer, me);
  for (int64_t t = r.mine.begin; t < r.mine.end; ++t) {
    const float* logits = step.work.experts.scores.data() + t * n;
    if (!std::all_of(logits, logits + n, [](float x) { return std::isfinite(x); }))
      step.note_fault(layer, kFfnMoeLogits);
    softmax(logits, n, r.probabilities + t * n);
    choose(r.probabilities + t * n, static_cast<int32_t>(n), n_used, r.chosen + t * n_used);
    for (int64_t i = t * n_used; i < (t + 1) * n_used; ++i) r.weights[i] = r.probabilities[t * n + r.chosen[i]];
  }
  show(step, {kFfnMoeProbs, layer, r.probabilities, n, n}, me);
  show_chosen(step, r, layer, me);
  show(step, {kFfnMoeWeights, layer, r.weights, 1, 1, {}, 0, n_used}, me);
  show_sums(step, r, layer, me);
  for (int64_t t = r.mine.begin; t < r.mine.end; ++t) normalize(r.weights + t * n_used, n_used, c.expert_weights_scale);
  const Site site = c.expert_weights_scale == 1.0f ? kFfnMoeWeightsNorm : kFfnMoeWeightsScaled;
  show(step, {site, layer, r.weights, n_used, n_used}, me);
  if (step.n_rows > 1) me.sync();
  return r;
}

// Says for each token's chosen experts which gathered row is theirs: those of an expert lie side by side. Of a single
// row, and for an observer, who wants to see them so, they lie in the router's order. Every member makes its own list.
std::span<const ExpertGroup> group(const Step& step, const Routing& r, exec::Member& me) noexcept {
  const ExpertWorkspace::Own& own = step.work.experts.own[static_cast<size_t>(me.index())];
  const int64_t n = step.n_rows * step.config().n_experts_used;
  if (step.n_rows == 1 || step.observer != nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      own.place[static_cast<size_t>(i)] = i;
      own.groups[static_cast<size_t>(i)] = {r.chosen[i], i, i + 1};
    }
    return own.groups.first(static_cast<size_t>(n));
  }
  std::ranges::fill(own.next, 0);
  for (int64_t i = 0; i < n; ++i) ++own.next[static_cast<size_t>(r.chosen[i])];
  size_t n_groups = 0;
  int64_t begin = 0;
  for (size_t e = 0; e < own.next.size(); ++e) {
    const int64_t count = own.next[e];
    own.next[e] = begin;
    if (count > 0) own.groups[n_groups++] = {static_cast<int64_t>(e), begin, begin + count};
    begin += count;
  }
  for (int64_t i = 0; i < n; ++i) own.place[static_cast<size_t>(i)] = own.next[static_cast<size_t>(r.chosen[i])]++;
  return own.groups.first(n_groups);
}

bool reads_floats(const Step& step, const Matrix& w) noexcept {
  return step.model.compute == Compute::kExact || quant::format_info(w.type).block_size == 1;
}

// The experts' input. A single row stays where it is, seen as many times as it has experts; a batch costs a meeting.
kernels::Activations gather(const Step& step, const LayerWeights& w, const kernels::Activations& in,
                            exec::Member& me) noexcept {
  const Config& c = step.config();
  if (step.n_rows == 1) return {in.x, 0, in.q, 0, in.scale, 0, in.sum, 0, c.n_experts_used};
  const ActivationBuffer& to = step.work.experts.gathered;
  const kernels::Activations gathered = to.view(step.n_rows * c.n_experts_used, c.n_embd);
  const std::span<const int64_t> place = step.work.experts.own[static_cast<size_t>(me.index())].place;
  const bool floats = reads_floats(step, w.gate) || reads_floats(step, w.up);
  const exec::Range mine = me.range(step.n_rows);
  for (int64_t i = mine.begin * c.n_experts_used; i < mine.end * c.n_experts_used; ++i) {
    const kernels::Activations row = part_of(in, i / c.n_experts_used, i / c.n_experts_used + 1);
    const int64_t at = place[static_cast<size_t>(i)];
    if (floats) std::copy_n(row.x, in.x_stride, to.x.data() + at * in.x_stride);
    std::copy_n(row.q, in.q_stride, to.q.data() + at * in.q_stride);
    std::copy_n(row.scale, in.scale_stride, to.scale.data() + at * in.scale_stride);
    std::copy_n(row.sum, in.sum_stride, to.sum.data() + at * in.sum_stride);
  }
  me.sync();
  return gathered;
}

// Matrices of all experts lie one below the other.
Matrix matrix_of(const Matrix& all, int64_t expert, int64_t n_rows) noexcept {
  const uint64_t offset = static_cast<uint64_t>(expert * n_rows) * all.data.row_bytes;
  return {{}, all.type, {all.data.data + offset, all.data.row_bytes, n_rows, all.data.n_cols}};
}

// Calls work(group, rows) for this member's share of `width` rows of each group's matrix, in pieces of equal cost: for
// few tokens that of reading the matrix.
template <typename Work>
void share_out(std::span<const ExpertGroup> groups, int64_t width, exec::Member& me, const Work& work) noexcept {
  const int64_t n_units = ceil_div(width, kRowUnit);
  const auto cost_of = [](const ExpertGroup& g) { return std::max(g.end - g.begin, kTokensWorthReading); };
  int64_t total = 0;
  for (const ExpertGroup& g : groups) total += n_units * cost_of(g);
  const exec::Range mine = me.range(total);
  int64_t before = 0;
  for (const ExpertGroup& g : groups) {
    const int64_t cost = cost_of(g);
    // A unit is its whose share it begins in.
    const auto first = [&](int64_t at) { return std::min(n_units, ceil_div(std::max(at - before, int64_t{0}), cost)); };
    const exec::Range rows = {first(mine.begin) * kRowUnit, std::min(width, first(mine.end) * kRowUnit)};
    if (rows.begin < rows.end) work(g, rows);
    before += n_units * cost;
  }
}

// work.gate = activation(gate x in) * (up x in), for this member's share.
void gate_experts(const Step& step, const LayerWeights& w, const kernels::Activations& in,
                  std::span<const ExpertGroup> groups, int64_t layer, exec::Member& me) noexcept {
  const int64_t n_ff = step.config().n_ff;
  const int64_t n_used = step.config().n_experts_used;
  float* gate = step.work.gate.data();
  float* up = step.work.up.data();
  const auto multiply_by = [&](const Matrix& all, float* out) {
    share_out(groups, n_ff, me, [&](const ExpertGroup& g, exec::Range rows) {
      linear_rows(step, matrix_of(all, g.expert, n_ff), {}, part_of(in, g.begin, g.end), out + g.begin * n_ff, rows,
                  me);
    });
  };
  multiply_by(w.gate, gate);
  show(step, {kFfnMoeGate, layer, gate, n_ff, n_ff, {}, 0, n_used}, me);
  multiply_by(w.up, up);
  show(step, {kFfnMoeUp, layer, up, n_ff, n_ff, {}, 0, n_used}, me);
  share_out(groups, n_ff, me, [&](const ExpertGroup& g, exec::Range rows) {
    activate(step, {gate + g.begin * n_ff, up + g.begin * n_ff, n_ff, g.end - g.begin}, rows);
  });
}

// The results times their weights, added in the router's order: this member's share of each row, which only it wrote.
void combine(const Step& step, const Routing& r, exec::Range rows, int64_t layer, exec::Member& me) noexcept {
  const int64_t width = step.config().n_embd;
  const int64_t n_used = step.config().n_experts_used;
  const int64_t n = rows.end - rows.begin;
  const std::span<const int64_t> place = step.work.experts.own[static_cast<size_t>(me.index())].place;
  float* results = step.work.experts.results.data();
  const auto result = [&](int64_t i) { return results + place[static_cast<size_t>(i)] * width + rows.begin; };
  const bool apart = step.adds_apart();
  const auto weigh = [&](int64_t t) {
    for (int64_t i = t * n_used; i < (t + 1) * n_used; ++i) multiply(result(i), n, r.weights[i]);
  };
  const auto add_up = [&](int64_t t) {
    float* sum = result(t * n_used);
    for (int64_t i = 1; i < n_used; ++i) step.kernels().add(sum, result(t * n_used + i), n);
    const int64_t at = t * width + rows.begin;
    if (apart) {
      std::copy_n(sum, n, step.work.product.data() + at);
    } else {
      step.kernels().add(step.work.x.data() + at, sum, n);
    }
  };
  if (step.observer == nullptr) {  // one token after the other, while its results are in the cache
    for (int64_t t = 0; t < step.n_rows; ++t) {
      weigh(t);
      add_up(t);
    }
  } else {
    for (int64_t t = 0; t < step.n_rows; ++t) weigh(t);
    show(step, {kFfnMoeWeighted, layer, results, width, width, {}, 0, n_used}, me);
    for (int64_t t = 0; t < step.n_rows; ++t) add_up(t);
  }
  if (apart) show(step, {kFfnMoeOut, layer, step.work.product.data(), width, width}, me);
}

}  // namespace

void mix_experts(const Step& step, const LayerWeights& w, const kernels::Activations& in, int64_t layer,
                 exec::Member& me) noexcept {
  const Config& c = step.config();
  const Routing routing = route(step, w.router, in, layer, me);
  const std::span<const ExpertGroup> groups = group(step, routing, me);
  gate_experts(step, w, gather(step, w, in, me), groups, layer, me);
  me.sync();
  const Rows activated = {step.work.gate.data(), c.n_ff, c.n_experts_used};
  const auto hidden = quantize(step, activated, layer, kFfnMoeHidden, me);
  const exec::Range rows = me.range(c.n_embd, kRowUnit);
  float* results = step.work.experts.results.data();
  for (const ExpertGroup& g : groups) {
    linear_rows(step, matrix_of(w.down, g.expert, c.n_embd), {}, part_of(hidden, g.begin, g.end),
                results + g.begin * c.n_embd, rows, me);
  }
  show(step, {kFfnMoeDown, layer, results, c.n_embd, c.n_embd, {}, 0, c.n_experts_used}, me);
  combine(step, routing, rows, layer, me);
}

}  // namespace lockstep::model
