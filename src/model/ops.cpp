#include "model/ops.h"

#include <algorithm>
#include <bit>

#include "base/checked.h"

namespace lockstep::model {
namespace {

// Rows are shared out in units of a vector.
constexpr int64_t kRowUnit = 16;
constexpr int64_t kLanes = 64;

kernels::Activations view(const ActivationBuffer& buffer, int64_t n_tokens, int64_t width) noexcept {
  const int64_t padded = round_up(width, kLanes);
  return {buffer.x.data(),
          padded,
          buffer.q.data(),
          padded,
          buffer.scale.data(),
          padded / kernels::kScaleGroup,
          buffer.sum.data(),
          padded / kernels::kSumGroup,
          n_tokens};
}

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
  const kernels::Activations a = view(buffer, 0, width);
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
  const float* x;
  int64_t width;
  const Vector* norm;
};

// What a norm is before its weight, for an observer: in the place where the whole norm will be. A weight of one changes
// no bit.
void show_unweighted(const Step& step, const Source& source, const ActivationBuffer& buffer, int64_t layer,
                     exec::Range rows, exec::Member& me) noexcept {
  if (step.observer == nullptr || source.norm == nullptr) return;
  const int64_t stride = view(buffer, 0, source.width).x_stride;
  auto* ones = reinterpret_cast<float*>(step.work.own[static_cast<size_t>(me.index())].scratch.data());
  std::fill_n(ones, source.width, 1.0f);
  for (int64_t t = rows.begin; t < rows.end; ++t) {
    step.kernels().rms_norm(source.x + t * source.width, ones, source.width, step.config().rms_eps,
                            buffer.x.data() + t * stride);
  }
  show(step, {kNorm, layer, buffer.x.data(), source.width, stride}, me);
}

kernels::Activations prepare(const Step& step, const Source& source, int64_t layer, Site site,
                             exec::Member& me) noexcept {
  const bool alone = step.n_rows == 1;
  const ActivationBuffer& buffer = alone ? step.work.own[static_cast<size_t>(me.index())].row : step.work.shared;
  const exec::Range rows = alone ? exec::Range{0, 1} : me.range(step.n_rows);
  show_unweighted(step, source, buffer, layer, rows, me);
  if (!prepare_rows(step, source.x, source.width, source.norm, buffer, rows)) step.note_fault(layer, site);
  if (!alone) me.sync();
  const kernels::Activations result = view(buffer, step.n_rows, source.width);
  show(step, {site, layer, result.x, source.width, result.x_stride}, me);
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
  return prepare(step, {step.work.x.data(), step.config().n_embd, &weight}, layer, site, me);
}

kernels::Activations quantize(const Step& step, const float* x, int64_t width, int64_t layer, Site site,
                              exec::Member& me) noexcept {
  return prepare(step, {x, width, nullptr}, layer, site, me);
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
  if (step.observer == nullptr) {
    product(step, w, a, {x, width, true}, rows, me);
    return;
  }
  float* apart = step.work.product.data();
  product(step, w, a, {apart, width, false}, rows, me);
  show(step, {site, layer, apart, width, width}, me);
  for (int64_t t = 0; t < a.n_tokens; ++t)
    step.kernels().add(x + t * width + rows.begin, apart + t * width + rows.begin, rows.end - rows.begin);
}

void linear_rows(const Step& step, const Matrix& w, const Vector& bias, const kernels::Activations& a, float* out,
                 exec::Range rows, exec::Member& me) noexcept {
  product(step, w, a, {out, w.data.n_rows, false}, rows, me);
  add_bias(step, bias, out, rows);
}

void add_bias(const Step& step, const Vector& bias, float* out, exec::Range rows) noexcept {
  if (bias.empty()) return;
  const auto width = static_cast<int64_t>(bias.size());
  for (int64_t t = 0; t < step.n_rows; ++t)
    step.kernels().add(out + t * width + rows.begin, bias.data() + rows.begin, rows.end - rows.begin);
}

void linear_gated(const Step& step, const Matrix& gate, const Matrix& up, const kernels::Activations& a, int64_t layer,
                  exec::Member& me) noexcept {
  const int64_t width = gate.data.n_rows;
  const exec::Range rows = me.range(width, kRowUnit);
  product(step, gate, a, {step.work.gate.data(), width, false}, rows, me);
  show(step, {kFfnGate, layer, step.work.gate.data(), width, width}, me);
  product(step, up, a, {step.work.up.data(), width, false}, rows, me);
  show(step, {kFfnUp, layer, step.work.up.data(), width, width}, me);
  for (int64_t t = 0; t < a.n_tokens; ++t) {
    float* g = step.work.gate.data() + t * width + rows.begin;
    step.kernels().swiglu(g, step.work.up.data() + t * width + rows.begin, rows.end - rows.begin, g);
  }
}

}  // namespace lockstep::model
