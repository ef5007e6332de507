#include "model/config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/exp64.h"
#include "kernels/packed.h"
#include "model/config_keys.h"
#include "model/refused_keys.h"

namespace lockstep::model {
namespace {

float freq_scale(const ConfigKeys& keys, bool long_rope) {
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

float positive(const ConfigKeys& keys, std::string_view name, float absent) {
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
void load_yarn(const ConfigKeys& keys, int64_t original, RopeConfig& rope) {
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
  if (factor <= 1.0) return;
  // The magnitude may stay out of it, in part or wholly (1).
  const double left_out = double{keys.optional_float("rope.scaling.yarn_log_multiplier", 0.0f)};
  if (!std::isfinite(left_out) || left_out < 0)
    fail(ErrorCode::kBadFile, "{} is {}, expected at least 0", keys.full("rope.scaling.yarn_log_multiplier"), left_out);
  const double growth = 0.1 * log64(factor);
  rope.magnitude *= static_cast<float>((1.0 + growth) / (1.0 + left_out * growth));
}

RopeConfig load_rope(const ConfigKeys& keys, const Config& c) {
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

// A mixture of experts: how many, and how wide. Otherwise one feed-forward.
void load_feed_forward(const ConfigKeys& keys, Config& c) {
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

void load_heads(const ConfigKeys& keys, Config& c) {
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

void load_query_temperature(const ConfigKeys& keys, Config& c) {
  if (!c.family->query_temperature) return;
  c.query_temperature = keys.optional_float("attention.temperature_scale", 0.0f);
  if (!std::isfinite(c.query_temperature) || c.query_temperature < 0.0f) {
    fail(ErrorCode::kBadFile, "{} is {}, expected at least 0", keys.full("attention.temperature_scale"),
         c.query_temperature);
  }
}

// What multiplies embeddings, residuals and logits. 0 is written for "none".
void load_scales(const ConfigKeys& keys, Config& c) {
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

// By a list of flags, or all but every so-manieth.
std::vector<bool> windowed_layers(const ConfigKeys& keys, const Config& c) {
  const std::string_view name = "attention.sliding_window_pattern";
  const auto n_layers = static_cast<size_t>(c.n_layers);
  std::vector<bool> layers(n_layers);
  if (const auto* flags = keys.metadata().find_array<bool>(keys.full(name))) {
    if (flags->size() == n_layers) return *flags;
    fail(ErrorCode::kBadFile, "{} has {} values, expected a number or {} values (one a layer)", keys.full(name),
         flags->size(), n_layers);
  }
  const int64_t period = keys.optional(name, c.family->window_pattern, kMaxLayers);
  for (size_t i = 0; i < n_layers; ++i) layers[i] = static_cast<int64_t>(i + 1) % period != 0;
  return layers;
}

// A window of attention, and what holds for the layers that have it.
void load_window(const ConfigKeys& keys, Config& c) {
  const Family& family = *c.family;
  c.local_rope = c.rope;
  const std::string_view name = "attention.sliding_window";
  const auto window = keys.metadata().find_uint(keys.full(name));
  if (family.ignores_window && window && *window != 0 && static_cast<int64_t>(*window) < c.context_length) {
    c.warning = fmt::format("{} is {} and not applied: all layers attend to the whole context, as in llama.cpp",
                            keys.full(name), *window);
  }
  if (family.window_pattern == 0) return;
  c.window = window ? keys.checked(name, *window, 0, kMaxContext) : family.default_window;
  c.windowed_layers = windowed_layers(keys, c);
  if (!family.unscaled_windows) return;
  const float base = family.local_freq_base > 0.0f ? family.local_freq_base : c.rope.freq_base;
  c.local_rope.freq_base = positive(keys, "rope.freq_base_swa", base);
  c.local_rope.freq_scale = 1.0f;
  c.local_rope.has_ramp = false;
  if (family.local_freq_base == 0.0f) c.local_rope.magnitude = 1.0f;
}

void load_softcaps(const ConfigKeys& keys, Config& c) {
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
  const ConfigKeys keys(metadata, architecture);
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
  load_query_temperature(keys, c);
  load_window(keys, c);
  load_softcaps(keys, c);
  load_scales(keys, c);
  refuse_unknown_arithmetic(keys, *c.family);
  return c;
}

}  // namespace lockstep::model
