#include "model/forward.h"

#include "base/error.h"
#include "kernels/packed.h"
#include "model/head.h"
#include "model/layer.h"
#include "model/ops.h"
#include "quant/dequantize.h"

namespace lockstep::model {
namespace {

// A row of the embedding matrix as fp32.
void look_up(const Step& step, int64_t token, float* out, exec::Member& me) noexcept {
  const Matrix& table = step.model.weights.token_embd;
  const int64_t n = step.config().n_embd;
  const std::byte* row = table.data.data + static_cast<uint64_t>(token) * table.data.row_bytes;
  if (step.kernels().packed) {
    const int64_t in_group = token % kernels::kRowsPerGroup;
    std::byte* unpacked = step.work.own[static_cast<size_t>(me.index())].scratch.data();
    kernels::unpack_row(table.type, row - static_cast<uint64_t>(in_group) * table.data.row_bytes, in_group, n,
                        table.data.row_bytes, unpacked);
    row = unpacked;
  }
  quant::dequantize_row(table.type, row, static_cast<uint64_t>(n), out);
}

// This member's rows; ends with the team's meeting.
void scale_embeddings(const Step& step, exec::Range rows, exec::Member& me) noexcept {
  const Config& c = step.config();
  float* x = step.work.x.data();
  const Site site = c.family->trace.scaled_embedding;
  if (site != kEmbd) show(step, {kEmbd, c.n_layers, x, c.n_embd, c.n_embd}, me);
  multiply(x + rows.begin * c.n_embd, (rows.end - rows.begin) * c.n_embd, c.embedding_scale);
  me.sync();
  show(step, {site, c.n_layers, x, c.n_embd, c.n_embd, "SCALE"}, me);
}

// The rows' embeddings and rotation angles: this member's share.
void embed(const Step& step, exec::Member& me) noexcept {
  const Config& c = step.config();
  const exec::Range mine = me.range(step.n_rows);
  for (int64_t row = mine.begin; row < mine.end; ++row) {
    const BatchRow& entry = step.batch[static_cast<size_t>(row)];
    look_up(step, entry.token, step.work.x.data() + row * c.n_embd, me);
    float* angles = step.work.cos_sin.data() + row * c.n_angles();
    step.model.rope.fill(entry.position, angles);
    if (c.has_local_rope()) step.model.local_rope.fill(entry.position, angles + c.rope.n_rot);
  }
  if (c.embedding_scale != 1.0f) return scale_embeddings(step, mine, me);
  me.sync();
  show(step, {kEmbd, c.n_layers, step.work.x.data(), c.n_embd, c.n_embd}, me);
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
  const auto site = static_cast<Site>((fault - 1) % kSites);
  fail(ErrorCode::kNotFinite, "activation {} holds a NaN or infinite value",
       tensor_name(site, (fault - 1) / kSites, config.n_layers));
}

}  // namespace

std::span<const float> forward(const Model& model, Batch batch, Workspace& work, exec::Team& team, Observer* observer) {
  const Step step = {model, batch, work, static_cast<int64_t>(batch.size()), list_wanted(batch, work), observer};
  if (!model.config.adds_apart())
    work.product.resize(observer == nullptr ? 0 : batch.size() * static_cast<size_t>(model.config.n_embd));
  work.fault.store(0, std::memory_order_relaxed);
  team.run([&step](exec::Member& me) { pass(step, me); });
  if (const int64_t fault = work.fault.load(std::memory_order_relaxed); fault != 0) report_fault(fault, model.config);
  return work.logits.first(static_cast<size_t>(step.n_wanted * model.config.n_vocab));
}

}  // namespace lockstep::model
