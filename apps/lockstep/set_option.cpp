// Texts and JSON values into GenerationSettings: one overload for each kind of option.
#include <cmath>

#include "base/error.h"
#include "chat/stop_matcher.h"
#include "generation_options.h"
#include "logit_bias_option.h"

namespace lockstep {
namespace {

using sampling::SamplingParams;

// "none" alone stands for no breakers at all, as in llama.cpp.
std::vector<std::string> dry_breakers(std::vector<std::string> texts) {
  if (texts.size() == 1 && texts[0] == "none") texts.clear();
  return texts;
}

std::vector<std::string> stop_texts(std::vector<std::string> texts) {
  static_cast<void>(chat::StopMatcher(texts));  // refuses what is no text
  return texts;
}

struct FromText {
  GenerationSettings& settings;
  const std::string& key;
  std::span<const std::string> texts;

  void operator()(const IntegerOption& option) const {
    option.set(settings, parse_integer(key, texts.back(), option.range));
  }
  void operator()(const FloatOption& option) const {
    settings.generate.sampling.*option.slot = parse_float(key, texts.back());
  }
  void operator()(const SeedOption&) const { settings.seed = parse_seed(key, texts.back()); }
  void operator()(const FlagOption& option) const { settings.generate.*option.slot = true; }
  void operator()(const StagesOption&) const {
    settings.generate.sampling.stages = sampling::parse_stages(texts.back());
  }
  void operator()(const LogitBiasOption&) const {
    settings.generate.sampling.logit_bias.clear();
    for (const std::string& text : texts) settings.generate.sampling.logit_bias.push_back(parse_logit_bias(text));
  }
  void operator()(const DryBreakersOption&) const {
    settings.generate.sampling.dry_sequence_breakers = dry_breakers({texts.begin(), texts.end()});
  }
  void operator()(const StopOption&) const { settings.generate.stop = stop_texts({texts.begin(), texts.end()}); }
};

struct FromJson {
  GenerationSettings& settings;
  const std::string& key;
  const Json& value;

  [[noreturn]] void fail_type(std::string_view expected) const {
    fail(ErrorCode::kBadRequest, "option {}: {} is not {}", key,
         printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 40), expected);
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    if (value.is_string()) return {value.get<std::string>()};
    if (!value.is_array()) fail_type("an array of texts");
    for (const Json& item : value) {
      if (!item.is_string()) fail_type("an array of texts");
    }
    return value.get<std::vector<std::string>>();
  }

  void operator()(const IntegerOption& option) const {
    if (!value.is_number_integer()) fail_type("a whole number");
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (value.is_number_unsigned() && value.get<uint64_t>() > kMost) fail_type("in the range of the option");
    check_range(key, value.get<int64_t>(), option.range);
    option.set(settings, value.get<int64_t>());
  }
  void operator()(const FloatOption& option) const {
    if (!value.is_number()) fail_type("a number");
    settings.generate.sampling.*option.slot = narrow_float(key, value.get<double>());
  }
  void operator()(const SeedOption&) const {
    settings.seed.reset();
    // Compared as unsigned, 2^64 - 1 would be -1 too.
    if (value.is_number_integer() && !value.is_number_unsigned() && value == -1) return;
    if (!value.is_number_unsigned()) fail_type("a whole number of 0 to 18446744073709551615, or -1 (random)");
    settings.seed = value.get<uint64_t>();
  }
  void operator()(const FlagOption& option) const {
    if (!value.is_boolean()) fail_type("true or false");
    settings.generate.*option.slot = value.get<bool>();
  }
  void operator()(const StagesOption&) const {
    std::string list;
    for (const std::string& name : texts()) list += (list.empty() ? "" : ";") + name;
    settings.generate.sampling.stages = sampling::parse_stages(list);
  }
  void operator()(const LogitBiasOption&) const { settings.generate.sampling.logit_bias = logit_bias_of(value); }
  void operator()(const DryBreakersOption&) const {
    settings.generate.sampling.dry_sequence_breakers = dry_breakers(texts());
  }
  void operator()(const StopOption&) const { settings.generate.stop = stop_texts(texts()); }
};

}  // namespace

void set_from_text(GenerationSettings& settings, const GenerationOption& option, std::span<const std::string> texts) {
  const std::string key = option.key();
  std::visit(FromText{settings, key, texts}, option.kind);
}

void set_from_json(GenerationSettings& settings, const GenerationOption& option, const Json& value) {
  const std::string key = option.key();
  if (!value.is_null()) std::visit(FromJson{settings, key, value}, option.kind);
}

}  // namespace lockstep
