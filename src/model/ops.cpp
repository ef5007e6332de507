#include "model/ops.h"

#include <algorithm>
#include <bit>

namespace lockstep::model {
namespace {

// Rows are shared out in units of a vector.
constexpr int64_t kRowUnit = 16;

bool all_finite(const float* x, int64_t n) noexcept {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  return largest < 0x7f800000u;
}

// Rows [first, last) of `x` into the buffer: normalised (or copied), and quantized where the compute mode and the width
// allow. A width that is no multiple of 32 occurs only before F32, F16 and BF16 matrices, whose products read fp32.
// False when a value is not finite.
bool prepare_rows(const Step& step, const float* x, int64_t width, const Vector* norm, const ActivationBuffer& buffer,
                  exec::Range rows) noexcept {
  const kernels::Activations a = buffer.view(0, width);
  bool finite = true;
  for (int64_t t = rows.begin; t < rows.end; ++t) {
    float* row = buffer.x.data() + t * a.x_stride;
    if (norm != nullptr) {
      step.kernels().rms_norm(x + t * width, norm->data(), width, step.config().rms_eps, row);
    } else {
      std::copy_n(x + t * width, width, row);
    }
    if (step.model.compute == Compute::kFast && width % kernels::kScaleGroup == 0) {
      finite &= step.kernels().quantize(row, width, buffer.q.data() + t * a.q_stride,
                                        buffer.scale.data() + t * a.scale_stride, buffer.sum.data() + t * a.sum_stride);
    } else {
      finite &= all_finite(row, width);
    }
  }
  return finite;
}

struct Source {
  Rows rows;
  const Vector* norm;
  bool is_named = true;
};

// A weight of one for each element: the norm before its weight, bit for bit.
const float* ones_in_scratch(const Step& step, int64_t n, exec::Member& me) noexcept {
  auto* ones = reinterpret_cast<float*>(step.work.own[static_cast<size_t>(me.index())].scratch.data());
  std::fill_n(ones, n, 1.0f);
  return ones;
}

// What a norm is before its weight, for an observer: in the place where the whole norm will be.
void show_unweighted(const Step& step, const Source& source, const ActivationBuffer& buffer, int64_t layer,
                     exec::Range rows, exec::Member& me) noexcept {
  if (step.observer == nullptr || source.norm == nullptr) return;
  const auto& [x, width, per_token] = source.rows;
  const int64_t stride = buffer.view(0, width).x_stride;
  const float* ones = ones_in_scratch(step, width, me);
  for (int64_t t = rows.begin; t < rows.end; ++t)
    step.kernels().rms_norm(x + t * width, ones, width, step.config().rms_eps, buffer.x.data() + t * stride);
  show(step, {kNorm, layer, buffer.x.data(), width, stride}, me);
}

kernels::Activations prepare(const Step& step, const Source& source, int64_t layer, Site site,
                             exec::Member& me) noexcept {
  const bool alone = step.n_rows == 1;
  const ActivationBuffer& buffer = alone ? step.work.own[static_cast<size_t>(me.index())].row : step.work.shared;
  const auto& [x, width, per_token] = source.rows;
  const int64_t n_rows = step.n_rows * per_token;
  const exec::Range rows = alone ? exec::Range{0, n_rows} : me.range(n_rows);
  show_unweighted(step, source, buffer, layer, rows, me);
  if (!prepare_rows(step, x, width, source.norm, buffer, rows)) step.note_fault(layer, site);
  if (!alone) me.sync();
  const kernels::Activations result = buffer.view(n_rows, width);
  if (source.is_named) show(step, {site, layer, result.x, width, result.x_stride, {}, 0, per_token}, me);
  return result;
}

struct Output {
  float* data;
  int64_t stride;
  bool add;
};

void product(const Step& step, const Matrix& w, const kernels::Activations& a, const Output& out, exec::Range rows,
             exec::Member& me) noexcept {
  if (rows.begin == rows.end) return;
  step.model.product(w.type)({w.data, rows.begin, rows.end, a, out.data, out.stride, out.add,
                              step.work.own[static_cast<size_t>(me.index())].scratch.data()});
}

}  // namespace

kernels::Activations norm_quantize(const Step& step, const Vector& weight, int64_t layer, Site site,
                                   exec::Member& me) noexcept {
  const bool has_norm = !weight.empty();
  return prepare(step, {{step.work.x.data(), step.config().n_embd}, has_norm ? &weight : nullptr, has_norm}, layer,
                 site, me);
}

kernels::Activations quantize(const Step& step, const Rows& rows, int64_t layer, Site site, exec::Member& me) noexcept {
  return prepare(step, {rows, nullptr}, layer, site, me);
}

exec::Range linear_logits(const Step& step, const Matrix& w, const kernels::Activations& a, exec::Member& me) noexcept {
  const int64_t n_vocab = step.config().n_vocab;
  const exec::Range mine = me.range(n_vocab, kRowUnit);
  product(step, w, a, {step.work.logits.data(), n_vocab, false}, mine, me);
  return mine;
}

void linear_add(const Step& step, const Matrix& w, const kernels::Activations& a, int64_t layer, Site site,
                exec::Member& me) noexcept {
  const int64_t width = w.data.n_rows;
  const exec::Range rows = me.range(width, kRowUnit);
  float* x = step.work.x.data();
  if (!step.adds_apart()) {
    product(step, w, a, {x, width, true}, rows, me);
    return;
  }
  float* apart = step.work.product.data();
  product(step, w, a, {apart, width, false}, rows, me);
  show(step, {site, layer, apart, width, width}, me);
}

void add_product(const Step& step, const Vector& post_norm, int64_t layer, Site site, exec::Member& me) noexcept {
  if (!step.adds_apart()) return;
  const Config& c = step.config();
  const int64_t width = c.n_embd;
  float* apart = step.work.product.data();
  if (!post_norm.empty()) {
    me.sync();
    const bool is_numbered = site != kFfnPostNorm || c.family->trace.numbered_ffn_post_norm;
    const int64_t norm_layer = site == kFfnPostNorm ? c.n_layers : layer;
    norm_in_place(step, {apart, width, post_norm, 0, is_numbered ? layer : c.n_layers, norm_layer, site}, me);
  }
  const bool by_tokens = !post_norm.empty();  // the norm was shared out so, and the product was not
  const exec::Range tokens = by_tokens ? me.range(step.n_rows) : exec::Range{0, step.n_rows};
  const exec::Range rows = by_tokens ? exec::Range{0, width} : me.range(width, kRowUnit);
  for (int64_t t = tokens.begin; t < tokens.end; ++t) {
    float* part = apart + t * width + rows.begin;
    if (c.residual_scale != 1.0f) multiply(part, rows.end - rows.begin, c.residual_scale);
    step.kernels().add(step.work.x.data() + t * width + rows.begin, part, rows.end - rows.begin);
  }
}

void norm_in_place(const Step& step, const NormInPlace& norm, exec::Member& me) noexcept {
  const auto n = static_cast<int64_t>(norm.weight.size());
  const exec::Range mine = me.range(step.n_rows * norm.width / n);
  const bool observed = step.observer != nullptr;
  const float* weight = observed ? ones_in_scratch(step, n, me) : norm.weight.data();
  for (int64_t i = mine.begin; i < mine.end; ++i)
    step.kernels().rms_norm(norm.x + i * n, weight, n, step.config().rms_eps, norm.x + i * n);
  if (!observed) return;
  show(step, {kNorm, norm.norm_layer, norm.x, norm.width, norm.width, {}, norm.head_dim}, me);
  for (int64_t i = mine.begin * n; i < mine.end * n; ++i) norm.x[i] *= norm.weight[static_cast<size_t>(i % n)];
  show(step, {norm.site, norm.layer, norm.x, norm.width, norm.width, {}, norm.head_dim}, me);
}

void multiply(float* x, int64_t n, float factor) noexcept {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

void linear_rows(const Step& step, const Matrix& w, const Vector& bias, const kernels::Activations& a, float* out,
                 exec::Range rows, exec::Member& me) noexcept {
  product(step, w, a, {out, w.data.n_rows, false}, rows, me);
  add_bias(step, bias, out, rows);
}

void linear_rows_exact(const Step& step, const Matrix& w, const kernels::Activations& a, float* out, exec::Range rows,
                       exec::Member& me) noexcept {
  if (rows.begin == rows.end || a.n_tokens == 0) return;
  step.kernels().exact[static_cast<int>(w.type)]({w.data, rows.begin, rows.end, a, out, w.data.n_rows, false,
                                                  step.work.own[static_cast<size_t>(me.index())].scratch.data()});
}

void add_bias(const Step& step, const Vector& bias, float* out, exec::Range rows) noexcept {
  if (bias.empty()) return;
  const auto width = static_cast<int64_t>(bias.size());
  for (int64_t t = 0; t < step.n_rows; ++t)
    step.kernels().add(out + t * width + rows.begin, bias.data() + rows.begin, rows.end - rows.begin);
}

void activate(const Step& step, const GatedRows& gated, exec::Range rows) noexcept {
  const kernels::KernelTable& kernels = step.kernels();
  const auto activation = step.config().family->activation == Activation::kSilu ? kernels.swiglu : kernels.geglu;
  for (int64_t t = 0; t < gated.n_tokens; ++t) {
    float* gate = gated.gate + t * gated.width + rows.begin;
    activation(gate, gated.up + t * gated.width + rows.begin, rows.end - rows.begin, gate);
  }
}

void linear_gated(const Step& step, const Matrix& gate, const Matrix& up, const kernels::Activations& a, int64_t layer,
                  exec::Member& me) noexcept {
  const int64_t width = gate.data.n_rows;
  const exec::Range rows = me.range(width, kRowUnit);
  product(step, gate, a, {step.work.gate.data(), width, false}, rows, me);
  show(step, {kFfnGate, layer, step.work.gate.data(), width, width}, me);
  product(step, up, a, {step.work.up.data(), width, false}, rows, me);
  show(step, {kFfnUp, layer, step.work.up.data(), width, width}, me);
  activate(step, {step.work.gate.data(), step.work.up.data(), width, a.n_tokens}, rows);
}

}  // namespace lockstep::model
