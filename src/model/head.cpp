#include "model/head.h"

#include <algorithm>
#include <functional>

#include "base/checked.h"
#include "model/ops.h"

namespace lockstep::model {
namespace {

constexpr int64_t kBlock = 64;

// The largest of n logits. Lanes side by side, so that compilers make vector instructions of it.
float largest(const float* x, int64_t n) noexcept {
  if (n < kBlock) return *std::max_element(x, x + n);
  float lane[16];
  std::copy_n(x, 16, lane);
  for (int64_t i = 16; i + 16 <= n; i += 16) {
    for (int j = 0; j < 16; ++j) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
  }
  return *std::max_element(lane, lane + 16);
}

// NaN and infinity leave a NaN behind: x - x is 0 for every other number.
bool all_finite(const float* x, int64_t n) noexcept {
  float lane[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int j = 0; j < 16; ++j) lane[j] += x[i + j] - x[i + j];
  }
  for (; i < n; ++i) lane[0] += x[i] - x[i];
  return std::none_of(lane, lane + 16, [](float v) { return v != v; });
}

// Among blocks of logits, at least k have a logit as large as the k-th largest block maximum: what is at least that
// large contains the k best.
void shorten(const float* x, exec::Range ids, std::span<std::byte> scratch, HeadShare& share) noexcept {
  const int64_t n = ids.end - ids.begin;
  const int64_t n_blocks = ceil_div(n, kBlock);
  share.n = 0;
  share.complete = n == 0;
  if (n_blocks <= kShortlist) return;
  auto* maxima = reinterpret_cast<float*>(scratch.data());
  float* ranked = maxima + n_blocks;
  for (int64_t b = 0; b < n_blocks; ++b)
    maxima[b] = largest(x + ids.begin + b * kBlock, std::min(kBlock, n - b * kBlock));
  std::copy_n(maxima, n_blocks, ranked);
  std::nth_element(ranked, ranked + kShortlist - 1, ranked + n_blocks, std::greater<>());
  const float threshold = ranked[kShortlist - 1];
  for (int64_t b = 0; b < n_blocks; ++b) {
    if (!(maxima[b] >= threshold)) continue;
    for (int64_t i = ids.begin + b * kBlock; i < std::min(ids.end, ids.begin + (b + 1) * kBlock); ++i) {
      if (!(x[i] >= threshold)) continue;
      if (share.n == HeadShare::kMost) return;
      share.ids[share.n] = static_cast<int32_t>(i);
      share.logits[share.n++] = x[i];
    }
  }
  share.complete = true;
}

}  // namespace

void head(const Step& step, exec::Member& me) noexcept {
  const Config& c = step.config();
  const auto result = norm_quantize(step, step.model.weights.output_norm, c.n_layers, kResultNorm, me);
  const exec::Range mine = linear_logits(step, step.model.weights.output, result, me);
  if (c.logit_factor != 1.0f) {
    for (int64_t row = 0; row < step.n_wanted; ++row)
      multiply(step.work.logits.data() + row * c.n_vocab + mine.begin, mine.end - mine.begin, c.logit_factor);
  }
  if (c.final_softcap != 0.0f) {
    for (int64_t row = 0; row < step.n_wanted; ++row) {
      float* logits = step.work.logits.data() + row * c.n_vocab;
      step.kernels().softcap(logits + mine.begin, mine.end - mine.begin, c.final_softcap);
    }
  }
  const std::string_view op = c.logit_factor != 1.0f || c.final_softcap != 0.0f ? "SCALE" : "";
  show(step, {kResultOutput, c.n_layers, step.work.logits.data(), c.n_vocab, c.n_vocab, op}, me);
  for (int64_t row = 0; row < step.n_wanted; ++row) {
    const float* logits = step.work.logits.data() + row * c.n_vocab;
    if (!all_finite(logits + mine.begin, mine.end - mine.begin)) step.note_fault(c.n_layers, kResultOutput);
    HeadShare& share = step.work.head_shares[static_cast<size_t>(row * me.count() + me.index())];
    shorten(logits, mine, step.work.own[static_cast<size_t>(me.index())].scratch, share);
  }
}

}  // namespace lockstep::model
