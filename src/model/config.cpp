#include "model/config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/exp64.h"
#include "kernels/packed.h"

namespace lockstep::model {
namespace {

// Generous upper bounds: they only keep products of two or three of these numbers far from 64 bits.
constexpr uint64_t kMaxLayers = 512;
constexpr uint64_t kMaxWidth = uint64_t{1} << 20;
constexpr uint64_t kMaxExperts = 1024;
constexpr uint64_t kMaxContext = uint64_t{1} << 30;

// Look-ups under the architecture's prefix.
class Keys {
 public:
  Keys(const gguf::Metadata& metadata, std::string prefix) : metadata_(metadata), prefix_(std::move(prefix)) {}

  [[nodiscard]] std::string full(std::string_view name) const { return prefix_ + "." + std::string(name); }
  [[nodiscard]] const gguf::Metadata& metadata() const { return metadata_; }

  [[nodiscard]] int64_t checked(std::string_view name, uint64_t value, uint64_t low, uint64_t high) const {
    if (value < low || value > high)
      fail(ErrorCode::kBadFile, "{} is {}, expected {} to {}", full(name), value, low, high);
    return static_cast<int64_t>(value);
  }
  [[nodiscard]] int64_t required(std::string_view name, uint64_t high) const {
    return checked(name, metadata_.get_uint(full(name)), 1, high);
  }
  [[nodiscard]] int64_t optional(std::string_view name, int64_t absent, uint64_t high) const {
    const auto value = metadata_.find_uint(full(name));
    return value ? checked(name, *value, 1, high) : absent;
  }
  [[nodiscard]] float optional_float(std::string_view name, float absent) const {
    return metadata_.find_float(full(name)).value_or(absent);
  }
  // A number that may also be given per layer; the layers must agree.
  [[nodiscard]] int64_t uniform(std::string_view name, int64_t n_layers, std::optional<int64_t> absent,
                                uint64_t high) const {
    const auto values = metadata_.find_uint_list(full(name));
    if (!values) return absent ? *absent : required(name, high);
    const bool per_layer = std::holds_alternative<gguf::ArrayValue>(*metadata_.find(full(name)));
    if (per_layer && values->size() != static_cast<size_t>(n_layers)) {
      fail(ErrorCode::kBadFile, "{} has {} values, expected a number or {} values (one a layer)", full(name),
           values->size(), n_layers);
    }
    const uint64_t first = values->front();
    if (std::ranges::any_of(*values, [first](uint64_t v) { return v != first; })) {
      fail(ErrorCode::kUnsupported, "{} differs between layers, which is not supported", full(name));
    }
    return checked(name, first, 1, high);
  }

 private:
  const gguf::Metadata& metadata_;
  std::string prefix_;
};

float freq_scale(const Keys& keys, bool long_rope) {
  const std::string* type = keys.metadata().find_string(keys.full("rope.scaling.type"));
  if (type != nullptr && *type != "none" && *type != "linear" && *type != "yarn" &&
      !(long_rope && *type == "longrope")) {
    fail(ErrorCode::kUnsupported, "{} \"{}\" is not supported; supported: none, linear, yarn",
         keys.full("rope.scaling.type"), printable(*type));
  }
  if (type != nullptr && *type == "none") return 1.0f;
  const float old_factor = keys.optional_float("rope.scale_linear", 1.0f);
  const float factor = keys.optional_float("rope.scaling.factor", old_factor);
  if (!std::isfinite(factor) || factor < 0.0f)
    fail(ErrorCode::kBadFile, "{} is {}, expected above 0", keys.full("rope.scaling.factor"), factor);
  return factor == 0.0f ? 1.0f : 1.0f / factor;  // 0 is written by some converters for "no scaling"
}

float positive(const Keys& keys, std::string_view name, float absent) {
  const float value = keys.optional_float(name, absent);
  if (!std::isfinite(value) || value <= 0.0f)
    fail(ErrorCode::kBadFile, "{} is {}, expected above 0", keys.full(name), value);
  return value;
}

// The pair that turns `turns` times within the original context.
double ramp_pair(const RopeConfig& rope, int64_t original_context, double turns) {
  constexpr double kTwoPi = 6.283185307179586;
  const double wavelengths = static_cast<double>(original_context) / (turns * kTwoPi);
  return static_cast<double>(rope.n_rot) * log64(wavelengths) / (2 * log64(double{rope.freq_base}));
}

// Peng et al. 2023, "YaRN"; bounds rounded outwards, and the magnitude's logarithm, as in llama.cpp.
void load_yarn(const Keys& keys, int64_t original, RopeConfig& rope) {
  const std::string* type = keys.metadata().find_string(keys.full("rope.scaling.type"));
  rope.magnitude = positive(keys, "rope.scaling.attn_factor", 1.0f);
  rope.has_ramp = type != nullptr && *type == "yarn";
  if (!rope.has_ramp) return;
  if (rope.freq_base == 1.0f)
    fail(ErrorCode::kBadFile, "{} is 1, with which no pair turns faster than another", keys.full("rope.freq_base"));
  const double fast = double{positive(keys, "rope.scaling.yarn_beta_fast", 32.0f)};
  const double slow = double{positive(keys, "rope.scaling.yarn_beta_slow", 1.0f)};
  rope.ramp_begin = static_cast<float>(std::max(0.0, std::floor(ramp_pair(rope, original, fast))));
  rope.ramp_end =
      static_cast<float>(std::min(static_cast<double>(rope.n_rot - 1), std::ceil(ramp_pair(rope, original, slow))));
  const double factor = 1.0 / double{rope.freq_scale};
  if (factor > 1.0) rope.magnitude *= static_cast<float>(1.0 + 0.1 * log64(factor));
}

RopeConfig load_rope(const Keys& keys, const Config& c) {
  const int64_t head_dim = c.head_dim;
  const bool partial = c.family->long_rope;
  RopeConfig rope = {};
  rope.n_rot = keys.optional("rope.dimension_count", head_dim, kMaxWidth);
  if (partial ? rope.n_rot > head_dim || rope.n_rot % 2 != 0 : rope.n_rot != head_dim) {
    fail(ErrorCode::kBadFile, "{} is {}, expected {} {}", keys.full("rope.dimension_count"), rope.n_rot,
         partial ? "an even number up to the head size" : "the head size", head_dim);
  }
  if (head_dim % 2 != 0) fail(ErrorCode::kBadFile, "head size {} is odd, which rotation cannot pair", head_dim);
  rope.freq_base = keys.optional_float("rope.freq_base", 10000.0f);
  if (!std::isfinite(rope.freq_base) || rope.freq_base <= 0.0f) {
    fail(ErrorCode::kBadFile, "{} is {}, expected above 0", keys.full("rope.freq_base"), rope.freq_base);
  }
  rope.freq_scale = freq_scale(keys, c.family->long_rope);
  load_yarn(keys, c.original_context, rope);
  return rope;
}

// Keys that change the arithmetic in ways these families do not compute. Refused rather than ignored, unless they hold
// the value that means "off".
void refuse_unknown_arithmetic(const Keys& keys, const Family& family) {
  constexpr uint64_t kSoftmax = 1;
  const bool has_experts = family.experts != Experts::kNone;
  constexpr std::array kCounts = {"expert_count",
                                  "expert_used_count",
                                  "expert_gating_func",
                                  "expert_group_count",
                                  "expert_shared_count",
                                  "expert_shared_feed_forward_length",
                                  "attention.sliding_window"};
  for (const std::string_view name : kCounts) {
    if (has_experts && (name == "expert_count" || name == "expert_used_count")) continue;
    if (has_experts && name == "expert_gating_func" && keys.metadata().find_uint(keys.full(name)) == kSoftmax) continue;
    if (family.window_pattern > 0 && name == "attention.sliding_window") continue;
    if (family.long_rope && name == "attention.sliding_window" && keys.metadata().find_uint(keys.full(name)) &&
        *keys.metadata().find_uint(keys.full(name)) >= keys.metadata().get_uint(keys.full("context_length"))) {
      continue;  // no position is ever out of it
    }
    const auto value = keys.metadata().find_uint(keys.full(name));
    if (value && *value != 0)
      fail(ErrorCode::kUnsupported, "{} is {}, which is not supported for this architecture", keys.full(name), *value);
  }
  constexpr std::array kFactors = {"logit_scale",
                                   "residual_scale",
                                   "embedding_scale",
                                   "attn_logit_softcapping",
                                   "final_logit_softcapping",
                                   "attention.temperature_scale",
                                   "attention.clamp_kqv"};
  for (const std::string_view name : kFactors) {
    if (family.attn_softcap && name == "attn_logit_softcapping") continue;
    if (family.final_softcap && name == "final_logit_softcapping") continue;
    if (family.has_scales && name.ends_with("_scale") && !name.starts_with("attention")) continue;
    const auto value = keys.metadata().find_float(keys.full(name));
    if (value && *value != 0.0f)
      fail(ErrorCode::kUnsupported, "{} is {}, which is not supported for this architecture", keys.full(name), *value);
  }
  const float local_base = keys.optional_float("rope.freq_base_swa", 0.0f);
  const float base = keys.optional_float("rope.freq_base", 10000.0f);
  if (family.local_freq_base == 0.0f && local_base != 0.0f && local_base != base)
    fail(ErrorCode::kUnsupported, "{} is {}, which is not supported for this architecture",
         keys.full("rope.freq_base_swa"), local_base);
  constexpr std::array<std::pair<std::string_view, float>, 3> kYarn = {{{"rope.scaling.yarn_ext_factor", 1.0f},
                                                                        {"rope.scaling.yarn_attn_factor", 1.0f},
                                                                        {"rope.scaling.yarn_log_multiplier", 0.0f}}};
  for (const auto& [name, usual] : kYarn) {
    const float value = keys.optional_float(name, usual);
    if (value != usual) fail(ErrorCode::kUnsupported, "{} is {}, which is not supported", keys.full(name), value);
  }
  const auto normalized = keys.metadata().find_bool(keys.full("expert_weights_norm"));
  if (normalized && !*normalized)
    fail(ErrorCode::kUnsupported, "{} is false, which is not supported", keys.full("expert_weights_norm"));
  const auto causal = keys.metadata().find_bool(keys.full("attention.causal"));
  if (causal && !*causal)
    fail(ErrorCode::kUnsupported, "{} is false, which is not supported", keys.full("attention.causal"));
}

// A mixture of experts: how many, and how wide. Otherwise one feed-forward.
void load_feed_forward(const Keys& keys, Config& c) {
  const auto n_experts = keys.metadata().find_uint(keys.full("expert_count")).value_or(0);
  const bool required = c.family->experts == Experts::kRequired;
  c.expert_weights_scale = 1.0f;
  if (c.family->experts == Experts::kNone || (n_experts == 0 && !required)) {
    c.n_ff = keys.uniform("feed_forward_length", c.n_layers, std::nullopt, kMaxWidth);
    return;
  }
  c.n_experts = keys.required("expert_count", kMaxExperts);
  c.n_experts_used = keys.required("expert_used_count", n_experts);
  const std::string_view width = "expert_feed_forward_length";
  if (keys.metadata().find(keys.full(width)) != nullptr) {
    c.n_ff = keys.uniform(width, c.n_layers, std::nullopt, kMaxWidth);
  } else {
    const int64_t n_ff = keys.uniform("feed_forward_length", c.n_layers, std::nullopt, kMaxWidth);
    c.n_ff = required ? std::max(int64_t{1}, n_ff / c.n_experts_used) : n_ff;
  }
  if (c.n_ff % kernels::kRowsPerGroup != 0 || c.n_embd % kernels::kRowsPerGroup != 0) {
    fail(ErrorCode::kUnsupported, "experts of width {} in a model of width {}, expected multiples of {}", c.n_ff,
         c.n_embd, kernels::kRowsPerGroup);
  }
  const float scale = keys.optional_float("expert_weights_scale", 0.0f);
  if (!std::isfinite(scale) || scale < 0.0f)
    fail(ErrorCode::kBadFile, "{} is {}, expected above 0", keys.full("expert_weights_scale"), scale);
  if (scale != 0.0f) c.expert_weights_scale = scale;
}

void load_heads(const Keys& keys, Config& c) {
  c.n_heads = keys.uniform("attention.head_count", c.n_layers, std::nullopt, kMaxWidth);
  c.n_kv_heads = keys.uniform("attention.head_count_kv", c.n_layers, c.n_heads, kMaxWidth);
  if (c.n_heads % c.n_kv_heads != 0 || c.n_group() > kernels::kMaxGroup) {
    fail(ErrorCode::kBadFile, "{} is {}, expected a divisor of the {} heads with at most {} heads each",
         keys.full("attention.head_count_kv"), c.n_kv_heads, c.n_heads, kernels::kMaxGroup);
  }
  if (!keys.metadata().find_uint(keys.full("attention.key_length")) && c.n_embd % c.n_heads != 0) {
    fail(ErrorCode::kBadFile, "{} is {}, expected a divisor of the width {}", keys.full("attention.head_count"),
         c.n_heads, c.n_embd);
  }
  const int64_t key_length = keys.optional("attention.key_length", c.n_embd / c.n_heads, kernels::kMaxHeadDim);
  c.head_dim = keys.checked("attention.key_length", static_cast<uint64_t>(key_length), 1, kernels::kMaxHeadDim);
  const int64_t value_length = keys.optional("attention.value_length", c.n_embd / c.n_heads, kernels::kMaxHeadDim);
  if (value_length != c.head_dim) {
    fail(ErrorCode::kUnsupported, "{} is {} and {} is {}: different sizes are not supported",
         keys.full("attention.key_length"), c.head_dim, keys.full("attention.value_length"), value_length);
  }
  const float scale = keys.optional_float("attention.scale", 0.0f);
  if (!std::isfinite(scale) || scale < 0.0f)
    fail(ErrorCode::kBadFile, "{} is {}, expected above 0", keys.full("attention.scale"), scale);
  const bool by_width = c.n_layers == c.family->wide_query_layers;
  const float size = static_cast<float>(by_width ? c.n_embd / c.n_heads : c.head_dim);
  c.attention_scale = scale != 0.0f ? scale : 1.0f / std::sqrt(size);
}

// What multiplies embeddings, residuals and logits. 0 is written for "none".
void load_scales(const Keys& keys, Config& c) {
  const auto factor = [&](std::string_view name) {
    const float value = keys.optional_float(name, 1.0f);
    if (!std::isfinite(value) || value < 0.0f)
      fail(ErrorCode::kBadFile, "{} is {}, expected above 0", keys.full(name), value);
    return value == 0.0f ? 1.0f : value;
  };
  const bool has_scales = c.family->has_scales;
  const float by_width = c.family->embedding_by_width ? std::sqrt(static_cast<float>(c.n_embd)) : 1.0f;
  c.embedding_scale = has_scales ? factor("embedding_scale") : by_width;
  c.residual_scale = has_scales ? factor("residual_scale") : 1.0f;
  if (has_scales) (void)keys.metadata().get_float(keys.full("logit_scale"));
  c.logit_factor = has_scales ? 1.0f / factor("logit_scale") : 1.0f;
  // These families say with it whether there is any rotation.
  const bool rotates = keys.metadata().find_bool(keys.full("rope.scaling.finetuned")).value_or(true);
  c.unrotated_every = has_scales && !rotates ? 1 : c.family->unrotated_every;
}

// A window of attention, and what holds for the layers that have it.
void load_window(const Keys& keys, Config& c) {
  const Family& family = *c.family;
  c.local_rope = c.rope;
  if (family.window_pattern == 0) return;
  const std::string_view name = "attention.sliding_window";
  const auto window = keys.metadata().find_uint(keys.full(name));
  c.window = window ? keys.checked(name, *window, 0, kMaxContext) : family.default_window;
  const std::string pattern = keys.full("attention.sliding_window_pattern");
  const gguf::Value* value = keys.metadata().find(pattern);
  if (value != nullptr && std::holds_alternative<gguf::ArrayValue>(*value))
    fail(ErrorCode::kUnsupported, "{} is a list, which is not supported", pattern);
  c.window_pattern = keys.optional("attention.sliding_window_pattern", family.window_pattern, kMaxLayers);
  if (family.local_freq_base == 0.0f) return;
  c.local_rope.freq_scale = 1.0f;
  c.local_rope.has_ramp = false;
  c.local_rope.freq_base = keys.optional_float("rope.freq_base_swa", family.local_freq_base);
  if (!std::isfinite(c.local_rope.freq_base) || c.local_rope.freq_base <= 0.0f)
    fail(ErrorCode::kBadFile, "{} is {}, expected above 0", keys.full("rope.freq_base_swa"), c.local_rope.freq_base);
}

void load_softcaps(const Keys& keys, Config& c) {
  const auto cap = [&](std::string_view name, const std::optional<float>& absent) {
    const float value = absent ? keys.optional_float(name, *absent) : 0.0f;
    if (!std::isfinite(value) || value < 0.0f)
      fail(ErrorCode::kBadFile, "{} is {}, expected above 0", keys.full(name), value);
    return value;
  };
  c.attn_softcap = cap("attn_logit_softcapping", c.family->attn_softcap);
  c.final_softcap = cap("final_logit_softcapping", c.family->final_softcap);
}

}  // namespace

Config load_config(const gguf::Metadata& metadata, int64_t n_vocab) {
  const std::string& architecture = metadata.get_string("general.architecture");
  Config c = {};
  c.family = &find_family(architecture);
  c.n_vocab = n_vocab;
  const Keys keys(metadata, architecture);
  c.n_layers = keys.required("block_count", kMaxLayers);
  c.n_embd = keys.required("embedding_length", kMaxWidth);
  c.context_length = keys.required("context_length", kMaxContext);
  c.original_context = keys.optional("rope.scaling.original_context_length", c.context_length, kMaxContext);
  load_feed_forward(keys, c);
  load_heads(keys, c);
  const std::string eps_key = keys.full("attention.layer_norm_rms_epsilon");
  c.rms_eps = metadata.get_float(eps_key);
  if (!std::isfinite(c.rms_eps) || c.rms_eps <= 0.0f)
    fail(ErrorCode::kBadFile, "{} is {}, expected above 0", eps_key, c.rms_eps);
  c.rope = load_rope(keys, c);
  load_window(keys, c);
  load_softcaps(keys, c);
  load_scales(keys, c);
  refuse_unknown_arithmetic(keys, *c.family);
  return c;
}

}  // namespace lockstep::model
