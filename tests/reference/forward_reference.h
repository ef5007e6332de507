// For tests only: the forward pass of llama (with experts, too) and qwen2 once more, as plainly as it can be said, in
// double precision and straight from the file. It shares no code with src/model; weights are dequantized by src/quant,
// which has tests of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "gguf/model_file.h"
#include "quant/dequantize.h"

namespace lockstep::reference {

using Numbers = std::vector<double>;

class ForwardReference {
 public:
  explicit ForwardReference(const std::filesystem::path& path) : file_(gguf::ModelFile::open(path)) {
    arch_ = file_.metadata().get_string("general.architecture");
    n_layers_ = number("block_count");
    width_ = number("embedding_length");
    n_heads_ = number("attention.head_count");
    const auto kv = file_.metadata().find_uint_list(arch_ + ".attention.head_count_kv");
    n_kv_heads_ = kv ? kv->front() : n_heads_;
    head_dim_ = file_.metadata().find_uint(arch_ + ".attention.key_length").value_or(width_ / n_heads_);
    eps_ = static_cast<double>(file_.metadata().get_float(arch_ + ".attention.layer_norm_rms_epsilon"));
    base_ = static_cast<double>(file_.metadata().find_float(arch_ + ".rope.freq_base").value_or(10000.0f));
    const std::string* scaling = file_.metadata().find_string(arch_ + ".rope.scaling.type");
    if (scaling != nullptr && *scaling == "linear") {
      linear_ = static_cast<double>(file_.metadata().get_float(arch_ + ".rope.scaling.factor"));
    }
  }

  // Logits [n_tokens, rows of the output matrix].
  Numbers logits(const std::vector<int32_t>& tokens) {
    std::vector<Numbers> x;
    for (const int32_t token : tokens) x.push_back(row("token_embd.weight", static_cast<size_t>(token)));
    for (size_t i = 0; i < n_layers_; ++i) layer("blk." + std::to_string(i) + ".", x);
    Numbers all;
    for (const Numbers& h : x) {
      const Numbers some = times(file_.find("output.weight") != nullptr ? "output.weight" : "token_embd.weight",
                                 norm("output_norm.weight", h));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

 private:
  size_t number(const std::string& name) { return file_.metadata().get_uint(arch_ + "." + name); }

  // A whole tensor, row after row.
  const Numbers& tensor(const std::string& name) {
    Numbers& values = tensors_[name];
    if (!values.empty()) return values;
    const gguf::TensorInfo& info = *file_.find(name);
    std::vector<std::byte> bytes(info.bytes);
    file_.read(info, 0, bytes);
    std::vector<float> floats(info.n_elements());
    quant::dequantize_row(info.type, bytes.data(), floats.size(), floats.data());
    values.assign(floats.begin(), floats.end());
    return values;
  }

  Numbers row(const std::string& name, size_t r) {
    const Numbers& all = tensor(name);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r * width_);
    return {begin, begin + static_cast<std::ptrdiff_t>(width_)};
  }

  // By one of n matrices.
  Numbers times(const std::string& name, const Numbers& x, size_t which = 0, size_t n = 1) {
    const Numbers& all = tensor(name);
    const double* w = all.data() + which * all.size() / n;
    Numbers out(all.size() / n / x.size());
    for (size_t r = 0; r < out.size(); ++r) {
      for (size_t k = 0; k < x.size(); ++k) out[r] += w[r * x.size() + k] * x[k];
    }
    return out;
  }

  // With the bias, where there is one.
  Numbers project(const std::string& name, const Numbers& x) {
    Numbers out = times(name + ".weight", x);
    if (file_.find(name + ".bias") == nullptr) return out;
    const Numbers& bias = tensor(name + ".bias");
    for (size_t i = 0; i < out.size(); ++i) out[i] += bias[i];
    return out;
  }

  Numbers norm(const std::string& name, const Numbers& x) {
    double sum = 0;
    for (const double v : x) sum += v * v;
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(x.size()) + eps_);
    Numbers out = tensor(name);
    for (size_t i = 0; i < x.size(); ++i) out[i] *= x[i] * scale;
    return out;
  }

  void rotate(Numbers& heads, size_t position) {
    const size_t half = head_dim_ / 2;
    for (size_t head = 0; head < heads.size() / head_dim_; ++head) {
      for (size_t i = 0; i < half; ++i) {
        double angle = static_cast<double>(position) *
                       std::pow(base_, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim_)) / linear_;
        if (file_.find("rope_freqs.weight") != nullptr) angle /= tensor("rope_freqs.weight")[i];
        const size_t first = head * head_dim_ + (arch_ == "qwen2" ? i : 2 * i);
        const size_t second = arch_ == "qwen2" ? first + half : first + 1;
        const double a = heads[first];
        const double b = heads[second];
        heads[first] = a * std::cos(angle) - b * std::sin(angle);
        heads[second] = a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }

  // Of one query head over the positions 0..n-1.
  void attend_head(const Numbers& q, size_t head, const std::vector<Numbers>& k, const std::vector<Numbers>& v,
                   size_t n, Numbers& out) const {
    const size_t at = head * head_dim_;
    const size_t kv_at = head / (n_heads_ / n_kv_heads_) * head_dim_;
    Numbers weights;
    double max = -1e300;
    for (size_t p = 0; p < n; ++p) {
      double score = 0;
      for (size_t d = 0; d < head_dim_; ++d) score += q[at + d] * k[p][kv_at + d];
      weights.push_back(score / std::sqrt(static_cast<double>(head_dim_)));
      max = std::max(max, weights.back());
    }
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - max);
    for (size_t p = 0; p < n; ++p) {
      for (size_t d = 0; d < head_dim_; ++d) out[at + d] += weights[p] / total * v[p][kv_at + d];
    }
  }

  void layer(const std::string& prefix, std::vector<Numbers>& x) {
    std::vector<Numbers> q, k, v;
    for (size_t p = 0; p < x.size(); ++p) {
      const Numbers h = norm(prefix + "attn_norm.weight", x[p]);
      q.push_back(project(prefix + "attn_q", h));
      k.push_back(project(prefix + "attn_k", h));
      v.push_back(project(prefix + "attn_v", h));
      rotate(q.back(), p);
      rotate(k.back(), p);
    }
    for (size_t p = 0; p < x.size(); ++p) {
      Numbers heads(n_heads_ * head_dim_);
      for (size_t head = 0; head < n_heads_; ++head) attend_head(q[p], head, k, v, p + 1, heads);
      add(x[p], times(prefix + "attn_output.weight", heads));
      const Numbers h = norm(prefix + "ffn_norm.weight", x[p]);
      if (file_.find(prefix + "ffn_gate_inp.weight") != nullptr) {
        add(x[p], experts(prefix, h));
      } else {
        add(x[p], feed_forward(prefix, ".weight", h));
      }
    }
  }

  // `expert` of the matrices that end with `suffix`, of n.
  Numbers feed_forward(const std::string& prefix, const std::string& suffix, const Numbers& x, size_t expert = 0,
                       size_t n = 1) {
    Numbers gate = times(prefix + "ffn_gate" + suffix, x, expert, n);
    const Numbers up = times(prefix + "ffn_up" + suffix, x, expert, n);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1.0 + std::exp(-gate[i])) * up[i];
    return times(prefix + "ffn_down" + suffix, gate, expert, n);
  }

  // Jiang et al. 2024, "Mixtral of Experts": the softmax of the best experts' logits weighs their results.
  Numbers experts(const std::string& prefix, const Numbers& x) {
    const Numbers logits = times(prefix + "ffn_gate_inp.weight", x);
    std::vector<size_t> ids(logits.size());
    std::iota(ids.begin(), ids.end(), size_t{0});
    std::stable_sort(ids.begin(), ids.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
    ids.resize(number("expert_used_count"));
    double total = 0;
    for (const size_t e : ids) total += std::exp(logits[e] - logits[ids[0]]);
    Numbers out(x.size());
    for (const size_t e : ids) {
      const Numbers result = feed_forward(prefix, "_exps.weight", x, e, logits.size());
      for (size_t i = 0; i < out.size(); ++i) out[i] += std::exp(logits[e] - logits[ids[0]]) / total * result[i];
    }
    return out;
  }

  static void add(Numbers& x, const Numbers& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  gguf::ModelFile file_;
  std::string arch_;
  size_t n_layers_, width_, n_heads_, n_kv_heads_, head_dim_;
  double eps_, base_, linear_ = 1.0;
  std::map<std::string, Numbers> tensors_;
};

}  // namespace lockstep::reference
