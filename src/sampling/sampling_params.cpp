#include "sampling/sampling_params.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"

namespace lockstep::sampling {
namespace {

struct StageName {
  std::string_view name;
  Stage stage;
};

// The first nine are the canonical names; hyphens and missing underscores are handled by `spelling`.
constexpr StageName kStageNames[] = {
    {"penalties", Stage::kPenalties}, {"dry", Stage::kDry},        {"top_n_sigma", Stage::kTopNSigma},
    {"top_k", Stage::kTopK},          {"typ_p", Stage::kTypicalP}, {"top_p", Stage::kTopP},
    {"min_p", Stage::kMinP},          {"xtc", Stage::kXtc},        {"temperature", Stage::kTemperature},
    {"temp", Stage::kTemperature},    {"nucleus", Stage::kTopP},   {"typical", Stage::kTypicalP},
    {"typical_p", Stage::kTypicalP},  {"typ", Stage::kTypicalP},
};

// Lower case without hyphens and underscores: "Top-K", "top_k" and "topk" are one name.
std::string spelling(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

Stage parse_stage(std::string_view name) {
  const std::string wanted = spelling(name);
  for (const StageName& entry : kStageNames) {
    if (spelling(entry.name) == wanted) return entry.stage;
  }
  fail(ErrorCode::kBadRequest,
       "option samplers: unknown stage \"{}\", expected some of "
       "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature",
       printable(name));
}

struct RealRange {
  std::string_view option;
  float value;
  float lowest;
  float highest;
};

constexpr float kMost = std::numeric_limits<float>::max();
// The smallest normal float: a penalty that divides must not turn logits into infinities by being almost nothing.
constexpr float kAboveZero = std::numeric_limits<float>::min();

void check_real(const RealRange& range) {
  if (range.value >= range.lowest && range.value <= range.highest) return;  // false for NaN
  if (range.lowest == -kMost)
    fail(ErrorCode::kBadRequest, "option {}: {} is not a finite number", range.option, range.value);
  if (range.lowest == kAboveZero) {
    fail(ErrorCode::kBadRequest, "option {}: {} is out of range, expected a finite number above 0", range.option,
         range.value);
  }
  if (range.highest == kMost) {
    fail(ErrorCode::kBadRequest, "option {}: {} is out of range, expected a finite number of {} or more", range.option,
         range.value, range.lowest);
  }
  fail(ErrorCode::kBadRequest, "option {}: {} is out of range, expected {} to {}", range.option, range.value,
       range.lowest, range.highest);
}

void check_integer(std::string_view option, int32_t value, int32_t lowest, int32_t highest) {
  if (value >= lowest && value <= highest) return;
  fail(ErrorCode::kBadRequest, "option {}: {} is out of range, expected {} to {}", option, value, lowest, highest);
}

void check_reals(const SamplingParams& p) {
  const RealRange ranges[] = {
      {"temp", p.temp, -kMost, kMost},
      {"dynatemp_range", p.dynatemp_range, 0, kMost},
      {"dynatemp_exp", p.dynatemp_exponent, 0, kMost},
      {"top_p", p.top_p, 0, kMost},
      {"min_p", p.min_p, 0, 1},
      {"typical", p.typical, 0, kMost},
      {"top_n_sigma", p.top_n_sigma, -kMost, kMost},
      {"xtc_probability", p.xtc_probability, 0, 1},
      {"xtc_threshold", p.xtc_threshold, 0, kMost},
      {"repeat_penalty", p.repeat_penalty, kAboveZero, kMost},
      {"frequency_penalty", p.frequency_penalty, -kMost, kMost},
      {"presence_penalty", p.presence_penalty, -kMost, kMost},
      {"dry_multiplier", p.dry_multiplier, 0, kMost},
      {"dry_base", p.dry_base, -kMost, kMost},
      {"mirostat_ent", p.mirostat_tau, 0, kMost},
      {"mirostat_lr", p.mirostat_eta, 0, kMost},
  };
  for (const RealRange& range : ranges) check_real(range);
}

void check_integers(const SamplingParams& p) {
  constexpr int32_t kMostInt = std::numeric_limits<int32_t>::max();
  check_integer("repeat_last_n", p.repeat_last_n, -1, kMostInt);
  check_integer("dry_allowed_length", p.dry_allowed_length, 0, kMostInt);
  check_integer("dry_penalty_last_n", p.dry_penalty_last_n, -1, kMostInt);
  check_integer("mirostat", p.mirostat, 0, 2);
  check_integer("min_keep", p.min_keep, 0, kMostInt);
}

void check_id(std::string_view option, TokenId id, int32_t n_vocab) {
  if (id >= 0 && id < n_vocab) return;
  fail(ErrorCode::kBadRequest, "option {}: token id {} is outside the vocabulary of {} tokens", option, id, n_vocab);
}

}  // namespace

std::string_view to_string(Stage stage) {
  for (const StageName& entry : kStageNames) {
    if (entry.stage == stage) return entry.name;
  }
  return "unknown";
}

std::vector<Stage> parse_stages(std::string_view list) {
  std::vector<Stage> stages;
  while (!list.empty()) {
    const size_t end = std::min(list.find(';'), list.size());
    const Stage stage = parse_stage(list.substr(0, end));
    if (std::find(stages.begin(), stages.end(), stage) != stages.end()) {
      fail(ErrorCode::kBadRequest, "option samplers: stage {} is given twice", to_string(stage));
    }
    stages.push_back(stage);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return stages;
}

void validate(const SamplingParams& params, int32_t n_vocab) {
  check_reals(params);
  check_integers(params);
  for (const LogitBias& entry : params.logit_bias) {
    check_id("logit_bias", entry.id, n_vocab);
    if (std::isnan(entry.bias) || entry.bias == std::numeric_limits<float>::infinity()) {
      fail(ErrorCode::kBadRequest, "option logit_bias: {} for token {}, expected a finite number or -inf", entry.bias,
           entry.id);
    }
  }
  if (const auto id = params.dry_breakers.id_outside(n_vocab)) check_id("dry_sequence_breaker", *id, n_vocab);
}

}  // namespace lockstep::sampling
