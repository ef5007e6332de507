#include "campaign/replaced_key.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "campaign/altered_file.h"

namespace lockstep::campaign {
namespace {

using forge::RandomData;

// Those under the architecture's name, then those without.
constexpr std::array kOfArchitecture = {"block_count",
                                        "context_length",
                                        "embedding_length",
                                        "feed_forward_length",
                                        "attention.head_count",
                                        "attention.head_count_kv",
                                        "attention.key_length",
                                        "attention.value_length",
                                        "attention.layer_norm_rms_epsilon",
                                        "attention.scale",
                                        "attention.causal",
                                        "attention.sliding_window",
                                        "attention.sliding_window_pattern",
                                        "attention.clamp_kqv",
                                        "attention.temperature_scale",
                                        "attn_logit_softcapping",
                                        "final_logit_softcapping",
                                        "logit_scale",
                                        "embedding_scale",
                                        "residual_scale",
                                        "expert_count",
                                        "expert_used_count",
                                        "expert_feed_forward_length",
                                        "expert_gating_func",
                                        "expert_group_count",
                                        "expert_shared_count",
                                        "expert_shared_feed_forward_length",
                                        "expert_weights_norm",
                                        "expert_weights_scale",
                                        "rope.dimension_count",
                                        "rope.freq_base",
                                        "rope.freq_base_swa",
                                        "rope.scale_linear",
                                        "rope.scaling.type",
                                        "rope.scaling.factor",
                                        "rope.scaling.finetuned",
                                        "rope.scaling.attn_factor",
                                        "rope.scaling.original_context_length",
                                        "rope.scaling.yarn_beta_fast",
                                        "rope.scaling.yarn_beta_slow",
                                        "rope.scaling.yarn_ext_factor",
                                        "rope.scaling.yarn_attn_factor",
                                        "rope.scaling.yarn_log_multiplier"};
constexpr std::array kOthers = {"general.architecture", "general.alignment", "split.no", "split.count",
                                "split.tensors.count"};

std::string key_name(const FileFields& fields, RandomData& random) {
  if (random.below(6) == 0) return kOthers[static_cast<size_t>(random.below(kOthers.size()))];
  return fields.architecture + "." + kOfArchitecture[static_cast<size_t>(random.below(kOfArchitecture.size()))];
}

template <typename T>
void append(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void append_text(std::string& out, std::string_view text) {
  append(out, uint64_t{text.size()});
  out += text;
}

// Numbers that mean something to one key or another, as bytes of any type.
double number(RandomData& random) {
  constexpr std::array kNumbers = {0.0,   1.0,      2.0,  3.0, 4.0,  7.0,   32.0, 64.0,
                                   512.0, 100000.0, -1.0, 0.5, 1e39, -1e39, 1e-9};
  return kNumbers[static_cast<size_t>(random.below(kNumbers.size()))];
}

// A value of a type that is neither text nor array.
void append_value(std::string& out, uint32_t type, RandomData& random) {
  constexpr std::array<size_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  const double value = number(random);
  char bytes[sizeof(uint64_t)] = {};
  if (type == 6) {
    const float narrow =
        random.below(8) == 0 ? std::bit_cast<float>(0x7fc00000u) : static_cast<float>(std::clamp(value, -3e38, 3e38));
    std::memcpy(bytes, &narrow, sizeof(narrow));
  } else if (type == 12) {
    std::memcpy(bytes, &value, sizeof(value));
  } else {
    const auto whole = static_cast<int64_t>(std::clamp(value, -1e18, 1e18));
    std::memcpy(bytes, &whole, sizeof(whole));
  }
  if (type == 7) bytes[0] = static_cast<char>(bytes[0] & 1);
  out.append(bytes, kBytes.at(type));
}

std::string_view text(RandomData& random) {
  constexpr std::array<std::string_view, 8> kTexts = {"none",  "linear", "yarn",     "longrope",
                                                      "llama", "gemma3", "\xff\x1b", ""};
  return kTexts[static_cast<size_t>(random.below(kTexts.size()))];
}

void append_array(std::string& out, RandomData& random) {
  constexpr std::array<uint32_t, 9> kTypes = {0, 1, 4, 5, 6, 7, 8, 10, 11};
  const uint32_t type = kTypes[static_cast<size_t>(random.below(kTypes.size()))];
  const auto count = static_cast<uint64_t>(random.below(9));
  append(out, type);
  append(out, count);
  RandomData same = random;  // half of the time all items are alike, as layers must be
  const bool alike = random.below(2) == 0;
  for (uint64_t i = 0; i < count; ++i) {
    RandomData again = same;
    RandomData& source = alike ? again : random;
    if (type == 8) {
      append_text(out, text(source));
    } else {
      append_value(out, type, source);
    }
  }
}

std::string record(const std::string& name, RandomData& random) {
  // Mostly the types that such keys have: u32, f32, bool, text, array.
  constexpr std::array<uint32_t, 16> kTypes = {4, 4, 4, 4, 6, 6, 6, 7, 8, 9, 9, 0, 2, 5, 11, 12};
  std::string out;
  append_text(out, name);
  const uint32_t type = kTypes[static_cast<size_t>(random.below(kTypes.size()))];
  append(out, type);
  if (type == 9) {
    append_array(out, random);
  } else if (type == 8) {
    append_text(out, text(random));
  } else {
    append_value(out, type, random);
  }
  return out;
}

}  // namespace

std::string replace_key(std::string_view file, const FileFields& fields, RandomData& random) {
  const std::string name = key_name(fields, random);
  return with_record(without_key(file, fields, name), fields, record(name, random));
}

}  // namespace lockstep::campaign
