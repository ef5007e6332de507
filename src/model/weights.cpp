#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/checked.h"
#include "base/error.h"
#include "exec/arena.h"
#include "quant/dequantize.h"

namespace lockstep::model {
namespace {

using gguf::TensorInfo;

constexpr uint64_t kSlabBytes = uint64_t{4} << 20;

std::string shape_text(const TensorInfo& tensor) {
  std::string text = "[";
  for (uint32_t i = 0; i < tensor.n_dims; ++i) text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
  return text + "]";
}

class Loader {
 public:
  Loader(const gguf::ModelFile& file, const Config& config, const Progress& progress)
      : file_(file), config_(config), progress_(progress), storage_(storage_bytes(file), "the weights") {
    for (const TensorInfo& tensor : file.tensors()) total_ += tensor.bytes;
  }

  Weights load() {
    const Config& c = config_;
    Weights w = {};
    w.token_embd = matrix("token_embd.weight", c.n_embd, c.n_vocab, kRowsAtLeast);
    w.tied = file_.find("output.weight") == nullptr;
    w.output = w.tied ? w.token_embd : matrix("output.weight", c.n_embd, c.n_vocab, kRowsAtLeast);
    w.output_norm = vector("output_norm.weight", c.n_embd);
    w.rope_factors = optional_vector("rope_freqs.weight", c.rope.n_rot / 2);
    refuse_bad_divisors(w.rope_factors);
    for (int64_t i = 0; i < c.n_layers; ++i) w.layers.push_back(layer(i));
    refuse_unused();
    w.storage = std::move(storage_).release();
    return w;
  }

 private:
  enum RowRule { kRowsExact, kRowsAtLeast };

  // Hands out storage and gives it up as a whole at the end.
  class Storage {
   public:
    Storage(uint64_t bytes, std::string_view purpose) : buffer_(bytes, purpose) {}
    std::span<std::byte> take(uint64_t bytes) {
      const std::span<std::byte> part = buffer_.bytes().subspan(used_, bytes);
      used_ += round_up(bytes, exec::Arena::kAlignment);
      return part;
    }
    Buffer release() && { return std::move(buffer_); }

   private:
    Buffer buffer_;
    uint64_t used_ = 0;
  };

  static uint64_t storage_bytes(const gguf::ModelFile& file) {
    uint64_t bytes = 0;
    for (const TensorInfo& tensor : file.tensors()) bytes += round_up(tensor.bytes, exec::Arena::kAlignment);
    return bytes;
  }

  LayerWeights layer(int64_t i) {
    const Config& c = config_;
    const auto name = [i](std::string_view part) { return fmt::format("blk.{}.{}", i, part); };
    const bool bias = c.family->requires_qkv_bias;
    const auto bias_vector = [&](std::string_view part, int64_t n) { return bias ? vector(name(part), n) : optional_vector(name(part), n); };
    LayerWeights w;
    w.attn_norm = vector(name("attn_norm.weight"), c.n_embd);
    w.q = matrix(name("attn_q.weight"), c.n_embd, c.q_width());
    w.k = matrix(name("attn_k.weight"), c.n_embd, c.kv_width());
    w.v = matrix(name("attn_v.weight"), c.n_embd, c.kv_width());
    w.q_bias = bias_vector("attn_q.bias", c.q_width());
    w.k_bias = bias_vector("attn_k.bias", c.kv_width());
    w.v_bias = bias_vector("attn_v.bias", c.kv_width());
    w.attn_output = matrix(name("attn_output.weight"), c.q_width(), c.n_embd);
    w.ffn_norm = vector(name("ffn_norm.weight"), c.n_embd);
    w.gate = matrix(name("ffn_gate.weight"), c.n_embd, c.n_ff);
    w.up = matrix(name("ffn_up.weight"), c.n_embd, c.n_ff);
    w.down = matrix(name("ffn_down.weight"), c.n_ff, c.n_embd);
    return w;
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
    if (!quant::format_info(tensor.type).supported) {
      fail(ErrorCode::kUnsupported, "tensor {} has type {}, which is not supported", name, quant::to_string(tensor.type));
    }
    const std::span<std::byte> data = storage_.take(tensor.bytes);
    read(tensor, data);
    const uint64_t row_bytes = quant::row_bytes(tensor.type, tensor.shape[0]);
    return {name, tensor.type, {data.data(), row_bytes, rows, n_cols}};
  }

  Vector vector(const std::string& name, int64_t n) {
    const TensorInfo& tensor = require(name);
    if (tensor.n_elements() != static_cast<uint64_t>(n) || tensor.shape[0] != static_cast<uint64_t>(n)) {
      fail(ErrorCode::kBadFile, "tensor {} has shape {}, expected [{}]", name, shape_text(tensor), n);
    }
    using enum quant::TensorType;
    if (tensor.type != kF32 && tensor.type != kF16 && tensor.type != kBF16) {
      fail(ErrorCode::kUnsupported, "tensor {} has type {}, expected F32, F16 or BF16", name, quant::to_string(tensor.type));
    }
    std::vector<std::byte> bytes(tensor.bytes);
    read(tensor, bytes);
    Vector values(static_cast<size_t>(n));
    quant::dequantize_row(tensor.type, bytes.data(), static_cast<uint64_t>(n), values.data());
    return values;
  }

  Vector optional_vector(const std::string& name, int64_t n) { return file_.find(name) != nullptr ? vector(name, n) : Vector{}; }

  void read(const TensorInfo& tensor, std::span<std::byte> out) {
    for (uint64_t first = 0; first < tensor.bytes; first += kSlabBytes) {
      const uint64_t n = std::min(kSlabBytes, tensor.bytes - first);
      file_.read(tensor, first, out.subspan(first, n));
      done_ += n;
      if (progress_) progress_(done_, total_);
    }
    const uint64_t n_blocks = tensor.bytes / quant::format_info(tensor.type).block_bytes;
    if (!quant::scales_are_finite(tensor.type, out.data(), n_blocks)) {
      fail(ErrorCode::kNotFinite, "tensor {} holds a NaN or infinite {}", tensor.name,
           quant::format_info(tensor.type).block_size == 1 ? "value" : "block scale");
    }
    used_.insert(tensor.name);
  }

  static void refuse_bad_divisors(const Vector& factors) {
    if (std::ranges::any_of(factors, [](float f) { return f <= 0.0f; })) {
      fail(ErrorCode::kBadFile, "tensor rope_freqs.weight holds a divisor that is not above 0");
    }
  }

  void refuse_unused() const {
    for (const TensorInfo& tensor : file_.tensors()) {
      if (used_.contains(tensor.name)) continue;
      fail(ErrorCode::kUnsupported, "tensor {} is not one that architecture {} has", printable(tensor.name), config_.family->name);
    }
  }

  const gguf::ModelFile& file_;
  const Config& config_;
  const Progress& progress_;
  Storage storage_;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
  std::unordered_set<std::string> used_;
};

}  // namespace

Weights load_weights(const gguf::ModelFile& file, const Config& config, const Progress& progress) {
  return Loader(file, config, progress).load();
}

}  // namespace lockstep::model
