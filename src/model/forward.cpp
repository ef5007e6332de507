#include "model/forward.h"

#include <array>

#include "base/error.h"
#include "model/layer.h"
#include "model/ops.h"
#include "quant/dequantize.h"

namespace lockstep::model {
namespace {

// The row of the embedding matrix, and the row's rotation angles. This member's share; for a single row everybody needs both at
// once, so member 0 makes the embedding and the team meets.
void embed(const Step& step, exec::Member& me) noexcept {
  const Config& c = step.config();
  const Matrix& table = step.model.weights.token_embd;
  const exec::Range mine = me.range(step.n_rows);
  for (int64_t row = mine.begin; row < mine.end; ++row) {
    const BatchRow& entry = step.batch[static_cast<size_t>(row)];
    const std::byte* source = table.data.data + static_cast<uint64_t>(entry.token) * table.data.row_bytes;
    quant::dequantize_row(table.type, source, static_cast<uint64_t>(c.n_embd), step.work.x.data() + row * c.n_embd);
    step.model.rope.fill(entry.position, step.work.cos_sin.data() + row * c.rope.n_rot);
  }
  me.sync();
}

void head(const Step& step, exec::Member& me) noexcept {
  const auto result = norm_quantize(step, step.model.weights.output_norm, step.config().n_layers, kResultNorm, me);
  linear_logits(step, step.model.weights.output, result, me);
}

// The whole pass, as every member of the team runs it.
void pass(Step step, exec::Member& me) noexcept {
  embed(step, me);
  for (int64_t i = 0; i < step.config().n_layers; ++i) layer(step, i, me);
  if (step.n_wanted > 0) head(step, me);
}

int64_t list_wanted(Batch batch, Workspace& work) {
  int64_t n = 0;
  for (size_t row = 0; row < batch.size(); ++row) {
    if (batch[row].wants_logits) work.wanted[static_cast<size_t>(n++)] = static_cast<int64_t>(row);
  }
  return n;
}

[[noreturn]] void report_fault(int64_t fault, const Config& config) {
  constexpr std::array<std::string_view, kFaultSites> kNames = {"attn_norm", "kqv_out", "ffn_norm", "ffn_swiglu", "result_norm"};
  const int64_t layer = (fault - 1) / kFaultSites;
  const std::string_view name = kNames[static_cast<size_t>((fault - 1) % kFaultSites)];
  const std::string tensor = layer == config.n_layers ? std::string(name) : fmt::format("{}-{}", name, layer);
  fail(ErrorCode::kNotFinite, "activation {} holds a NaN or infinite value", tensor);
}

}  // namespace

std::span<const float> forward(const Model& model, Batch batch, Workspace& work, exec::Team& team) {
  const Step step = {model, batch, work, static_cast<int64_t>(batch.size()), list_wanted(batch, work)};
  work.fault.store(0, std::memory_order_relaxed);
  team.run([&step](exec::Member& me) { pass(step, me); });
  if (const int64_t fault = work.fault.load(std::memory_order_relaxed); fault != 0) report_fault(fault, model.config);
  return work.logits.first(static_cast<size_t>(step.n_wanted * model.config.n_vocab));
}

exec::KvCache::Shape cache_shape(const Model& model, int64_t max_positions) {
  const int64_t element_bytes = model.cache_type == kernels::CacheType::kF16 ? 2 : 4;
  return {model.config.n_layers, model.config.n_kv_heads, model.config.head_dim, element_bytes, max_positions};
}

}  // namespace lockstep::model
