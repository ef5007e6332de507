#include "model/weights.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/checked.h"
#include "base/error.h"
#include "exec/arena.h"
#include "kernels/packed.h"
#include "quant/dequantize.h"

namespace lockstep::model {
namespace {

using gguf::TensorInfo;

std::string shape_text(const TensorInfo& tensor) {
  std::string text = "[";
  for (uint32_t i = 0; i < tensor.n_dims; ++i) text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
  return text + "]";
}

// Says for every tensor of the architecture where it goes, has them all read at once, and finishes what is not a
// matrix.
class WeightsLoader {
 public:
  WeightsLoader(const gguf::ModelFile& file, const Config& config, bool packed)
      : file_(file), config_(config), packed_(packed) {
    uint64_t bytes = 0;
    for (const TensorInfo& tensor : file.tensors())
      bytes += round_up(placement_bytes(tensor, packed), exec::Arena::kAlignment);
    weights_.storage = Buffer(bytes, "the weights");
  }

  Weights load(exec::Team& team, const Progress& progress) && {
    plan();
    weights_.tree_hash = load_tensors(file_, std::move(placements_), team, progress);
    for (const StagedVector& staged : staged_) {
      staged.out->resize(staged.tensor->shape[0]);
      quant::dequantize_row(staged.tensor->type, staged.bytes.data(), staged.tensor->shape[0], staged.out->data());
    }
    refuse_bad_divisors(weights_.rope_factors);
    refuse_bad_divisors(weights_.rope_factors_long);
    return std::move(weights_);
  }

 private:
  enum RowRule { kRowsExact, kRowsAtLeast };

  struct StagedVector {
    const TensorInfo* tensor;
    Vector* out;
    std::vector<std::byte> bytes;
  };

  void plan() {
    const Config& c = config_;
    Weights& w = weights_;
    w.token_embd = matrix("token_embd.weight", c.n_embd, c.n_vocab, kRowsAtLeast);
    w.tied = file_.find("output.weight") == nullptr;
    w.output = w.tied ? w.token_embd : matrix("output.weight", c.n_embd, c.n_vocab, kRowsAtLeast);
    vector("output_norm.weight", c.n_embd, w.output_norm);
    const bool long_rope = c.family->long_rope;
    optional_vector(long_rope ? "rope_factors_short.weight" : "rope_freqs.weight", c.rope.n_rot / 2, w.rope_factors);
    if (long_rope) optional_vector("rope_factors_long.weight", c.rope.n_rot / 2, w.rope_factors_long);
    if ((file_.find("rope_factors_short.weight") == nullptr) != (file_.find("rope_factors_long.weight") == nullptr))
      fail(ErrorCode::kNotFound,
           "of the tensors rope_factors_short.weight and rope_factors_long.weight one is missing");
    w.layers.resize(static_cast<size_t>(c.n_layers));
    for (int64_t i = 0; i < c.n_layers; ++i) plan_layer(i, w.layers[static_cast<size_t>(i)]);
    refuse_unused();
  }

  void plan_layer(int64_t i, LayerWeights& w) {
    const Config& c = config_;
    const auto name = [i](std::string_view part) { return fmt::format("blk.{}.{}", i, part); };
    if (c.family->pre_norms) {
      vector(name("attn_norm.weight"), c.n_embd, w.attn_norm);
      vector(name("ffn_norm.weight"), c.n_embd, w.ffn_norm);
    }
    if (c.family->post_norms) {
      vector(name("post_attention_norm.weight"), c.n_embd, w.attn_post_norm);
      vector(name("post_ffw_norm.weight"), c.n_embd, w.ffn_post_norm);
    }
    if (c.family->qk_norm != QkNorm::kNone) {
      const bool whole = c.family->qk_norm == QkNorm::kWholeRow;
      vector(name("attn_q_norm.weight"), whole ? c.q_width() : c.head_dim, w.q_norm);
      vector(name("attn_k_norm.weight"), whole ? c.kv_width() : c.head_dim, w.k_norm);
    }
    const std::string fused = name("attn_qkv.weight");
    if (c.family->fused_matrices && file_.find(fused) != nullptr) {
      const Matrix qkv = matrix(fused, c.n_embd, c.q_width() + 2 * c.kv_width());
      w.q = rows_of(qkv, 0, c.q_width());
      w.k = rows_of(qkv, c.q_width(), c.kv_width());
      w.v = rows_of(qkv, c.q_width() + c.kv_width(), c.kv_width());
    } else {
      w.q = matrix(name("attn_q.weight"), c.n_embd, c.q_width());
      w.k = matrix(name("attn_k.weight"), c.n_embd, c.kv_width());
      w.v = matrix(name("attn_v.weight"), c.n_embd, c.kv_width());
    }
    bias(name("attn_q.bias"), c.q_width(), w.q_bias);
    bias(name("attn_k.bias"), c.kv_width(), w.k_bias);
    bias(name("attn_v.bias"), c.kv_width(), w.v_bias);
    w.attn_output = matrix(name("attn_output.weight"), c.q_width(), c.n_embd);
    if (c.has_experts()) return plan_experts(name, w);
    if (c.family->fused_matrices) {
      const Matrix gate_up = matrix(name("ffn_up.weight"), c.n_embd, 2 * c.n_ff);
      w.gate = rows_of(gate_up, 0, c.n_ff);
      w.up = rows_of(gate_up, c.n_ff, c.n_ff);
    } else {
      w.gate = matrix(name("ffn_gate.weight"), c.n_embd, c.n_ff);
      w.up = matrix(name("ffn_up.weight"), c.n_embd, c.n_ff);
    }
    w.down = matrix(name("ffn_down.weight"), c.n_ff, c.n_embd);
  }

  template <typename Name>
  void plan_experts(const Name& name, LayerWeights& w) {
    const Config& c = config_;
    w.router = matrix(name("ffn_gate_inp.weight"), c.n_embd, c.n_experts);
    w.gate = matrices(name("ffn_gate_exps.weight"), c.n_embd, c.n_ff, c.n_experts);
    w.up = matrices(name("ffn_up_exps.weight"), c.n_embd, c.n_ff, c.n_experts);
    w.down = matrices(name("ffn_down_exps.weight"), c.n_ff, c.n_embd, c.n_experts);
  }

  void bias(const std::string& name, int64_t n, Vector& out) {
    if (config_.family->requires_qkv_bias) {
      vector(name, n, out);
    } else {
      optional_vector(name, n, out);
    }
  }

  const TensorInfo& require(const std::string& name) const {
    const TensorInfo* tensor = file_.find(name);
    if (tensor == nullptr) fail(ErrorCode::kNotFound, "tensor {} is missing", name);
    return *tensor;
  }

  Matrix matrix(const std::string& name, int64_t n_cols, int64_t n_rows, RowRule rule = kRowsExact) {
    const TensorInfo& tensor = require(name);
    const auto rows = static_cast<int64_t>(tensor.shape[1]);
    const bool rows_fit = rule == kRowsExact ? rows == n_rows : rows >= n_rows;
    if (tensor.n_dims > 2 || static_cast<int64_t>(tensor.shape[0]) != n_cols || !rows_fit) {
      fail(ErrorCode::kBadFile, "tensor {} has shape {}, expected [{}, {}{}]", name, shape_text(tensor), n_cols, n_rows,
           rule == kRowsAtLeast ? " or more" : "");
    }
    return placed(tensor, rows);
  }

  // A matrix for each expert, one below the other; their sizes are whole groups of rows (load_config()).
  Matrix matrices(const std::string& name, int64_t n_cols, int64_t n_rows, int64_t n) {
    const TensorInfo& tensor = require(name);
    const std::array wanted = {static_cast<uint64_t>(n_cols), static_cast<uint64_t>(n_rows), static_cast<uint64_t>(n),
                               uint64_t{1}};
    if (tensor.shape != wanted) {
      fail(ErrorCode::kBadFile, "tensor {} has shape {}, expected [{}, {}, {}]", name, shape_text(tensor), n_cols,
           n_rows, n);
    }
    return placed(tensor, n_rows * n);
  }

  Matrix placed(const TensorInfo& tensor, int64_t rows) {
    if (!quant::format_info(tensor.type).supported) {
      fail(ErrorCode::kUnsupported, "tensor {} has type {}, which is not supported", tensor.name,
           quant::to_string(tensor.type));
    }
    std::byte* data = weights_.storage.data() + used_bytes_;
    used_bytes_ += round_up(placement_bytes(tensor, packed_), exec::Arena::kAlignment);
    place(tensor, data, packed_);
    const auto n_cols = static_cast<int64_t>(tensor.shape[0]);
    return {tensor.name, tensor.type, {data, quant::row_bytes(tensor.type, tensor.shape[0]), rows, n_cols}};
  }

  // A part of a fused matrix; in both layouts 16 rows take the bytes of 16 rows.
  static Matrix rows_of(const Matrix& fused, int64_t first, int64_t n_rows) {
    if (first % kernels::kRowsPerGroup != 0 || n_rows % kernels::kRowsPerGroup != 0) {
      fail(ErrorCode::kUnsupported, "tensor {} has a part of rows {} to {}, expected multiples of {}", fused.name,
           first, first + n_rows, kernels::kRowsPerGroup);
    }
    Matrix part = fused;
    part.data.data += static_cast<uint64_t>(first) * fused.data.row_bytes;
    part.data.n_rows = n_rows;
    return part;
  }

  void vector(const std::string& name, int64_t n, Vector& out) {
    const TensorInfo& tensor = require(name);
    if (tensor.n_elements() != static_cast<uint64_t>(n) || tensor.shape[0] != static_cast<uint64_t>(n)) {
      fail(ErrorCode::kBadFile, "tensor {} has shape {}, expected [{}]", name, shape_text(tensor), n);
    }
    using enum quant::TensorType;
    if (tensor.type != kF32 && tensor.type != kF16 && tensor.type != kBF16) {
      fail(ErrorCode::kUnsupported, "tensor {} has type {}, expected F32, F16 or BF16", name,
           quant::to_string(tensor.type));
    }
    staged_.push_back({&tensor, &out, std::vector<std::byte>(tensor.bytes)});
    place(tensor, staged_.back().bytes.data(), false);
  }

  void optional_vector(const std::string& name, int64_t n, Vector& out) {
    if (file_.find(name) != nullptr) vector(name, n, out);
  }

  void place(const TensorInfo& tensor, std::byte* data, bool packed) {
    placements_.push_back({&tensor, data, packed});
    used_.insert(tensor.name);
  }

  void refuse_bad_divisors(const Vector& factors) const {
    if (std::ranges::any_of(factors, [](float f) { return f <= 0.0f; })) {
      fail(ErrorCode::kBadFile, "tensor {} holds a divisor that is not above 0",
           config_.family->long_rope ? "rope_factors_*.weight" : "rope_freqs.weight");
    }
  }

  void refuse_unused() const {
    for (const TensorInfo& tensor : file_.tensors()) {
      if (used_.contains(tensor.name)) continue;
      fail(ErrorCode::kUnsupported, "tensor {} is not one that architecture {} has", printable(tensor.name),
           config_.family->name);
    }
  }

  const gguf::ModelFile& file_;
  const Config& config_;
  const bool packed_;
  Weights weights_;
  uint64_t used_bytes_ = 0;
  std::vector<TensorPlacement> placements_;
  std::vector<StagedVector> staged_;
  std::unordered_set<std::string> used_;
};

}  // namespace

Weights load_weights(const gguf::ModelFile& file, const Config& config, bool packed, exec::Team& team,
                     const Progress& progress) {
  return WeightsLoader(file, config, packed).load(team, progress);
}

}  // namespace lockstep::model
