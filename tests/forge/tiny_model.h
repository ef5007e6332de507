// For tests only: a small random model that is written as a GGUF file, and that a test may damage before. The same
// arguments give the same bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "forge/random_blocks.h"
#include "gguf/writer.h"
#include "model/family.h"
#include "quant/quantize.h"

namespace lockstep::forge {

struct TinyShape {
  std::string arch = "llama";
  int64_t n_layers = 4;
  int64_t n_embd = 256;
  int64_t n_heads = 8;
  int64_t n_kv_heads = 2;
  int64_t head_dim = 32;
  int64_t n_ff = 704;
  int64_t n_experts = 0;  // with them, n_ff is the width of each
  int64_t n_experts_used = 0;
  int64_t n_vocab = 300;
  float freq_base = 500000.0f;
  float eps = 1e-5f;
  bool tied = false;
  std::vector<TensorType> types = {TensorType::kF16};  // of the matrices, in turn
  uint64_t seed = 1;
};

inline TinyShape tiny_llama() {
  return {};
}

// For tests that load it thousands of times.
inline TinyShape smallest_llama() {
  TinyShape shape;
  shape.n_layers = 1;
  shape.n_embd = 64;
  shape.n_heads = 2;
  shape.n_kv_heads = 1;
  shape.n_ff = 64;
  shape.types = {TensorType::kQ8_0};
  return shape;
}

inline TinyShape tiny_qwen2() {
  TinyShape shape;
  shape.arch = "qwen2";
  shape.freq_base = 1000000.0f;
  shape.eps = 1e-6f;
  shape.tied = true;
  return shape;
}

// Of any family that differs from llama by what family.h says; mixtral is a llama with experts.
inline TinyShape tiny_family(const std::string& family) {
  TinyShape shape;
  shape.arch = family == "mixtral" ? "llama" : family;
  if (shape.arch == family && model::find_family(family).experts != model::Experts::kRequired) return shape;
  shape.n_experts = family == "mixtral" ? 4 : 9;
  shape.n_experts_used = family == "mixtral" ? 2 : 3;
  return shape;
}

// Every matrix of another quantized type; 512 is a multiple of all block sizes.
inline TinyShape tiny_quantized(TinyShape shape) {
  using enum TensorType;
  shape.n_ff = 512;
  shape.types = {kQ8_0, kQ4_K, kQ4_1, kQ6_K,   kQ5_0,  kIQ4_XS, kQ2_K, kQ4_0,
                 kQ5_K, kQ3_K, kQ5_1, kIQ4_NL, kTQ2_0, kMXFP4,  kIQ3_S};
  return shape;
}

struct TinyTensor {
  std::string name;
  TensorType type;
  std::vector<uint64_t> shape;
  std::vector<std::byte> data;
};

class TinyModel {
 public:
  explicit TinyModel(const TinyShape& shape) : shape_(shape), random_(shape.seed) {
    add_keys();
    add_vocabulary();
    matrix("token_embd.weight", shape_.n_vocab, shape_.n_embd);
    for (int64_t i = 0; i < shape_.n_layers; ++i) add_layer("blk." + std::to_string(i) + ".");
    vector("output_norm.weight", shape_.n_embd, 1.0f, 0.05f);
    if (!shape_.tied) matrix("output.weight", shape_.n_vocab, shape_.n_embd);
  }

  [[nodiscard]] const TinyShape& shape() const { return shape_; }

  // Sets a key under the architecture's prefix; `full_key` for others.
  void set(const std::string& name, gguf::Value value) { set_key(shape_.arch + "." + name, std::move(value)); }
  void set_key(const std::string& full_key, gguf::Value value) {
    for (auto& [key, old] : keys_) {
      if (key != full_key) continue;
      old = std::move(value);
      return;
    }
    keys_.push_back({full_key, std::move(value)});
  }
  void erase(const std::string& name) {
    std::erase_if(keys_, [&](const auto& entry) { return entry.key == shape_.arch + "." + name; });
  }
  [[nodiscard]] TinyTensor& tensor(const std::string& name) {
    return *std::ranges::find(tensors_, name, [](const TinyTensor& t) { return t.name; });
  }
  void erase_tensor(const std::string& name) {
    std::erase_if(tensors_, [&](const TinyTensor& t) { return t.name == name; });
  }
  void add_tensor(TinyTensor tensor) { tensors_.push_back(std::move(tensor)); }
  void add_vector(const std::string& name, const std::vector<float>& values) {
    TinyTensor tensor = {
        name, TensorType::kF32, {values.size()}, std::vector<std::byte>(values.size() * sizeof(float))};
    std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
    tensors_.push_back(std::move(tensor));
  }

  void write(const std::filesystem::path& path) const {
    gguf::Writer writer;
    add_keys_to(writer);
    add_tensors_to(writer, 0, n_tensors());
    writer.write(path);
  }

  // The parts of write(), for files of another form. The tensors' data must outlive the writer.
  [[nodiscard]] size_t n_tensors() const { return tensors_.size(); }
  void add_keys_to(gguf::Writer& writer) const {
    for (const auto& [key, value] : keys_) writer.add(key, value);
  }
  void add_tensors_to(gguf::Writer& writer, size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i)
      writer.add_tensor(tensors_[i].name, tensors_[i].type, tensors_[i].shape, tensors_[i].data);
  }

 private:
  void add_keys() {
    const auto u32 = [](int64_t value) { return gguf::Value(static_cast<uint32_t>(value)); };
    set_key("general.architecture", shape_.arch);
    set("context_length", u32(4096));
    set("block_count", u32(shape_.n_layers));
    set("embedding_length", u32(shape_.n_embd));
    set("feed_forward_length", u32(shape_.n_ff));
    set("attention.head_count", u32(shape_.n_heads));
    set("attention.head_count_kv", u32(shape_.n_kv_heads));
    set("attention.layer_norm_rms_epsilon", shape_.eps);
    set("rope.freq_base", shape_.freq_base);
    set("rope.dimension_count", u32(shape_.head_dim));
    if (model::find_family(shape_.arch).window_pattern > 0) set("attention.sliding_window", u32(40));
    if (shape_.n_experts > 0) {
      set("expert_count", u32(shape_.n_experts));
      set("expert_used_count", u32(shape_.n_experts_used));
      set("expert_feed_forward_length", u32(shape_.n_ff));
    }
    if (model::find_family(shape_.arch).query_temperature) {
      set("attention.temperature_scale", 0.3f);
      set("rope.scaling.type", std::string("yarn"));
      set("rope.scaling.factor", 8.0f);
      set("rope.scaling.original_context_length", u32(50));
      set("rope.scaling.yarn_log_multiplier", 0.5f);
    }
    if (model::find_family(shape_.arch).has_scales) {
      set("logit_scale", 8.0f);
      set("embedding_scale", 12.0f);
      set("residual_scale", 0.22f);
    }
    if (shape_.head_dim * shape_.n_heads != shape_.n_embd) {
      set("attention.key_length", u32(shape_.head_dim));
      set("attention.value_length", u32(shape_.head_dim));
    }
  }

  // SentencePiece style: <unk>, <s>, </s>, the 256 bytes, then letters.
  void add_vocabulary() {
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types = {2, 3, 3};
    constexpr const char* kDigits = "0123456789ABCDEF";
    for (int byte = 0; byte < 256; ++byte) {
      tokens.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
      types.push_back(6);
    }
    for (int64_t i = static_cast<int64_t>(tokens.size()); i < shape_.n_vocab; ++i) {
      tokens.push_back(std::string(1 + static_cast<size_t>(i - 259) / 26, static_cast<char>('a' + (i - 259) % 26)));
      types.push_back(1);
    }
    const std::vector<float> scores(tokens.size(), -1.0f);
    set_key("tokenizer.ggml.model", std::string("llama"));
    set_key("tokenizer.ggml.tokens", gguf::ArrayValue(tokens));
    set_key("tokenizer.ggml.scores", gguf::ArrayValue(scores));
    set_key("tokenizer.ggml.token_type", gguf::ArrayValue(types));
    set_key("tokenizer.ggml.bos_token_id", uint32_t{1});
    set_key("tokenizer.ggml.eos_token_id", uint32_t{2});
    set_key("tokenizer.ggml.unknown_token_id", uint32_t{0});
  }

  void add_layer(const std::string& prefix) {
    const int64_t q_width = shape_.n_heads * shape_.head_dim;
    const int64_t kv_width = shape_.n_kv_heads * shape_.head_dim;
    const model::Family& family = model::find_family(shape_.arch);
    if (family.pre_norms) vector(prefix + "attn_norm.weight", shape_.n_embd, 1.0f, 0.05f);
    if (family.fused_matrices) {
      matrix(prefix + "attn_qkv.weight", q_width + 2 * kv_width, shape_.n_embd);
    } else {
      matrix(prefix + "attn_q.weight", q_width, shape_.n_embd);
      matrix(prefix + "attn_k.weight", kv_width, shape_.n_embd);
      matrix(prefix + "attn_v.weight", kv_width, shape_.n_embd);
    }
    if (family.requires_qkv_bias) {
      vector(prefix + "attn_q.bias", q_width, 0.0f, 0.1f);
      vector(prefix + "attn_k.bias", kv_width, 0.0f, 0.1f);
      vector(prefix + "attn_v.bias", kv_width, 0.0f, 0.1f);
    }
    if (family.qk_norm != model::QkNorm::kNone) {
      const bool whole = family.qk_norm == model::QkNorm::kWholeRow;
      vector(prefix + "attn_q_norm.weight", whole ? q_width : shape_.head_dim, 1.0f, 0.05f);
      vector(prefix + "attn_k_norm.weight", whole ? kv_width : shape_.head_dim, 1.0f, 0.05f);
    }
    matrix(prefix + "attn_output.weight", shape_.n_embd, q_width);
    if (family.post_norms) {
      vector(prefix + "post_attention_norm.weight", shape_.n_embd, 1.0f, 0.05f);
      vector(prefix + "post_ffw_norm.weight", shape_.n_embd, 1.0f, 0.05f);
    }
    if (family.pre_norms) vector(prefix + "ffn_norm.weight", shape_.n_embd, 1.0f, 0.05f);
    if (shape_.n_experts > 0) return add_experts(prefix);
    if (!family.fused_matrices) matrix(prefix + "ffn_gate.weight", shape_.n_ff, shape_.n_embd);
    matrix(prefix + "ffn_up.weight", family.fused_matrices ? 2 * shape_.n_ff : shape_.n_ff, shape_.n_embd);
    matrix(prefix + "ffn_down.weight", shape_.n_embd, shape_.n_ff);
  }

  void add_experts(const std::string& prefix) {
    matrix(prefix + "ffn_gate_inp.weight", shape_.n_experts, shape_.n_embd);
    matrix(prefix + "ffn_gate_exps.weight", shape_.n_ff, shape_.n_embd, shape_.n_experts);
    matrix(prefix + "ffn_up_exps.weight", shape_.n_ff, shape_.n_embd, shape_.n_experts);
    matrix(prefix + "ffn_down_exps.weight", shape_.n_embd, shape_.n_ff, shape_.n_experts);
  }

  void vector(const std::string& name, int64_t n, float mean, float deviation) {
    add_vector(name, random_.normals(n, deviation, mean));
  }

  void matrix(const std::string& name, int64_t n_rows, int64_t n_cols, int64_t n_matrices = 1) {
    const TensorType type = shape_.types[n_matrices_++ % shape_.types.size()];
    TinyTensor tensor = {name, type, {static_cast<uint64_t>(n_cols), static_cast<uint64_t>(n_rows)}, {}};
    if (n_matrices > 1) tensor.shape.push_back(static_cast<uint64_t>(n_matrices));
    const int64_t n = n_rows * n_cols * n_matrices;
    const quant::FormatInfo& format = quant::format_info(type);
    if (format.block_size == 256 || type == TensorType::kIQ4_NL || type == TensorType::kMXFP4) {
      tensor.data = random_weights(type, n, BlockKind::kOrdinary, random_);
    } else {
      const std::vector<float> values = random_.normals(n, 1.0f / std::sqrt(static_cast<float>(n_cols)));
      tensor.data.resize(quant::row_bytes(type, values.size()));
      quant::quantize_row(type, values.data(), values.size(), tensor.data.data());
    }
    tensors_.push_back(std::move(tensor));
  }

  TinyShape shape_;
  RandomData random_;
  std::vector<gguf::Metadata::Entry> keys_;
  std::vector<TinyTensor> tensors_;
  size_t n_matrices_ = 0;
};

// A place for the running test's files.
inline std::filesystem::path test_file(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string folder = std::string(test->test_suite_name()) + "." + test->name();
  std::ranges::replace(folder, '/', '_');
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / folder;
  std::filesystem::create_directories(path);
  return path / name;
}

inline std::vector<int32_t> random_tokens(int64_t n, int64_t n_vocab, uint64_t seed) {
  RandomData random(seed);
  std::vector<int32_t> tokens(static_cast<size_t>(n));
  std::ranges::generate(tokens, [&] { return static_cast<int32_t>(random.below(n_vocab)); });
  return tokens;
}

}  // namespace lockstep::forge
