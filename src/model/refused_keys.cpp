#include "model/refused_keys.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace lockstep::model {
namespace {

// The values of llama.cpp's enumeration that mean what is computed anyway.
constexpr uint64_t kSoftmaxRouter = 1;

template <typename T>
void refuse(const ConfigKeys& keys, std::string_view name, const T& value) {
  fail(ErrorCode::kUnsupported, "{} is {}, which is not supported for this architecture", keys.full(name), value);
}

bool computes_count(const Family& family, std::string_view name, uint64_t value) {
  if (value == 0) return true;
  if (name == "attention.sliding_window") return family.window_pattern > 0 || family.ignores_window;
  if (family.experts == Experts::kNone) return false;
  return name == "expert_count" || name == "expert_used_count" ||
         (name == "expert_gating_func" && value == kSoftmaxRouter);
}

bool computes_factor(const Family& family, std::string_view name, float value) {
  if (value == 0.0f) return true;
  if (name == "attn_logit_softcapping") return family.attn_softcap.has_value();
  if (name == "final_logit_softcapping") return family.final_softcap.has_value();
  if (name == "attention.temperature_scale") return family.query_temperature;
  return family.has_scales && name != "attention.clamp_kqv";
}

void refuse_counts(const ConfigKeys& keys, const Family& family) {
  constexpr std::array kCounts = {"expert_count",
                                  "expert_used_count",
                                  "expert_gating_func",
                                  "expert_group_count",
                                  "expert_shared_count",
                                  "expert_shared_feed_forward_length",
                                  "attention.sliding_window"};
  for (const std::string_view name : kCounts) {
    const auto value = keys.metadata().find_uint(keys.full(name));
    if (value && !computes_count(family, name, *value)) refuse(keys, name, *value);
  }
}

void refuse_factors(const ConfigKeys& keys, const Family& family) {
  constexpr std::array kFactors = {"logit_scale",
                                   "residual_scale",
                                   "embedding_scale",
                                   "attn_logit_softcapping",
                                   "final_logit_softcapping",
                                   "attention.temperature_scale",
                                   "attention.clamp_kqv"};
  for (const std::string_view name : kFactors) {
    const auto value = keys.metadata().find_float(keys.full(name));
    if (value && !computes_factor(family, name, *value)) refuse(keys, name, *value);
  }
}

void refuse_rotations(const ConfigKeys& keys, const Family& family) {
  const float local_base = keys.optional_float("rope.freq_base_swa", 0.0f);
  const float base = keys.optional_float("rope.freq_base", 10000.0f);
  if (!family.unscaled_windows && local_base != 0.0f && local_base != base)
    refuse(keys, "rope.freq_base_swa", local_base);
  constexpr std::array<std::pair<std::string_view, float>, 3> kYarn = {{{"rope.scaling.yarn_ext_factor", 1.0f},
                                                                        {"rope.scaling.yarn_attn_factor", 1.0f},
                                                                        {"rope.scaling.yarn_log_multiplier", 0.0f}}};
  for (const auto& [name, usual] : kYarn) {
    if (family.query_temperature && name == "rope.scaling.yarn_log_multiplier") continue;
    const float value = keys.optional_float(name, usual);
    if (value != usual) refuse(keys, name, value);
  }
}

}  // namespace

void refuse_unknown_arithmetic(const ConfigKeys& keys, const Family& family) {
  refuse_counts(keys, family);
  refuse_factors(keys, family);
  refuse_rotations(keys, family);
  for (const std::string_view name : {"expert_weights_norm", "attention.causal"}) {
    const auto value = keys.metadata().find_bool(keys.full(name));
    if (value && !*value) refuse(keys, name, *value);
  }
}

}  // namespace lockstep::model
