#include "logit_bias_option.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "number_text.h"

namespace lockstep {
namespace {

using sampling::LogitBias;

constexpr std::string_view kOption = "logit_bias";
constexpr IntegerRange kIds = {0, std::numeric_limits<int32_t>::max()};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

[[noreturn]] void fail_entry(const std::string& entry, std::string_view expected) {
  fail(ErrorCode::kBadRequest, "option {}: entry {}: expected {}", kOption, printable(entry), expected);
}

float bias_of(const std::string& entry, const Json& value) {
  if (value.is_boolean() && !value.get<bool>()) return -kInfinity;
  if (!value.is_number()) fail_entry(entry, "a number, or false for -inf");
  const double bias = value.get<double>();
  if (!std::isfinite(bias) || std::abs(bias) > std::numeric_limits<float>::max()) {
    fail_entry(entry, "a finite 32-bit floating-point number");
  }
  return static_cast<float>(bias);
}

LogitBias pair_of(const Json& pair) {
  const std::string entry = pair.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer())
    fail_entry(entry, "[ID, V] or \"ID(+|-)V\"");
  // Beyond int64 the value of an unsigned number does not fit: -1 is refused like it.
  const bool too_large = pair[0].is_number_unsigned() && pair[0].get<uint64_t>() > static_cast<uint64_t>(kIds.highest);
  const int64_t id = too_large ? -1 : pair[0].get<int64_t>();
  if (id < kIds.lowest || id > kIds.highest) fail_entry(entry, "a token id");
  return {static_cast<int32_t>(id), bias_of(entry, pair[1])};
}

}  // namespace

LogitBias parse_logit_bias(std::string_view text) {
  const size_t sign = text.find_first_of("+-", 1);
  if (text.empty() || sign == text.npos) fail_entry(std::string(text), "ID+V or ID-V");
  const std::string name = fmt::format("{}, entry {}", kOption, printable(text));
  const auto id = static_cast<int32_t>(parse_integer(name, text.substr(0, sign), kIds));
  float bias = parse_float(name, text.substr(sign + 1));
  if (text[sign] == '-') bias = -bias;
  if (std::isnan(bias) || bias == kInfinity) fail_entry(std::string(text), "a finite number or -inf");
  return {id, bias};
}

std::vector<LogitBias> logit_bias_of(const Json& value) {
  std::vector<LogitBias> biases;
  if (value.is_string()) return {parse_logit_bias(value.get_ref<const std::string&>())};
  if (!value.is_object() && !value.is_array())
    fail(ErrorCode::kBadRequest, "option {}: expected an object or an array", kOption);
  for (const auto& [key, bias] : value.items()) {
    if (value.is_object()) {
      const std::string name = fmt::format("{}, entry {}", kOption, printable(key));
      biases.push_back({static_cast<int32_t>(parse_integer(name, key, kIds)), bias_of(key, bias)});
    } else if (bias.is_string()) {
      biases.push_back(parse_logit_bias(bias.get_ref<const std::string&>()));
    } else {
      biases.push_back(pair_of(bias));
    }
  }
  return biases;
}

}  // namespace lockstep
