#include "recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "generation_options.h"
#include "request.h"

namespace lockstep {
namespace {

std::string shown(const Json& value) {
  if (value.is_structured()) return value.type_name();  // which may be large
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 40);
}

const Json& field_of(const Json& object, const char* name) {
  if (!object.is_object()) fail(ErrorCode::kBadRequest, "a recorded answer is a JSON object, not {}", shown(object));
  const auto found = object.find(name);
  if (found == object.end()) fail(ErrorCode::kBadRequest, "field {} is missing, as complete --json writes it", name);
  return *found;
}

std::string text_of(const Json& object, const char* name) {
  const Json& value = field_of(object, name);
  if (!value.is_string()) fail(ErrorCode::kBadRequest, "field {}: {} is not a text", name, shown(value));
  return value.get<std::string>();
}

// The text of a field that is one of a few.
template <size_t n>
std::string choice_of(const Json& object, const char* name, const std::array<std::string_view, n>& choices) {
  const std::string text = text_of(object, name);
  if (std::ranges::find(choices, text) == choices.end())
    fail(ErrorCode::kBadRequest, "field {}: unknown value \"{}\"", name, printable(text));
  return text;
}

int64_t count_of(const Json& object, const char* name, int64_t lowest) {
  const Json& value = field_of(object, name);
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const bool is_small = !value.is_number_unsigned() || value.get<uint64_t>() <= kMost;
  const bool fits = value.is_number_integer() && is_small && value.get<int64_t>() >= lowest;
  if (!fits) fail(ErrorCode::kBadRequest, "field {}: {} is not a whole number from {} on", name, shown(value), lowest);
  return value.get<int64_t>();
}

void set_option(GenerationSettings& settings, const std::string& name, const Json& value) {
  const GenerationOption* option = find_generation_option(name);
  if (option == nullptr) fail(ErrorCode::kBadRequest, "receipt: unknown option {}", printable(name));
  if (value.is_null()) fail(ErrorCode::kBadRequest, "receipt: option {} has no value", printable(name));
  set_from_json(settings, *option, value);
}

// One stage: its name, and all its parameters by the names of their options.
void set_stage(GenerationSettings& settings, const Json& stage, Json& names) {
  const std::string name = text_of(stage, "stage");
  if (name != "mirostat") names.push_back(name);
  for (const auto& parameter : stage.items()) {
    if (parameter.key() == "stage") continue;
    if (parameter.key() == "min_keep") {
      settings.generate.sampling.min_keep =
          static_cast<int32_t>(std::min<int64_t>(count_of(stage, "min_keep", 0), std::numeric_limits<int32_t>::max()));
      continue;
    }
    set_option(settings, parameter.key(), parameter.value());
  }
}

engine::GenerateOptions options_of(const Json& receipt) {
  GenerationSettings settings;
  const Json& stages = field_of(receipt, "samplers");
  if (!stages.is_array()) fail(ErrorCode::kBadRequest, "field samplers: expected an array of stages");
  Json names = Json::array();
  for (const Json& stage : stages) set_stage(settings, stage, names);
  // With Mirostat the list of stages plays no part, and is not told.
  if (settings.generate.sampling.mirostat == 0) set_option(settings, "samplers", names);
  for (const char* name : {"n_predict", "ignore_eos", "logit_bias", "seed"})
    set_option(settings, name, field_of(receipt, name));
  if (!settings.seed) fail(ErrorCode::kBadRequest, "field seed: a receipt names the seed that was used");
  settings.generate.sampling.seed = *settings.seed;
  return settings.generate;
}

Json steps_of(const Json& answer) {
  const auto steps = answer.find("steps");
  if (steps == answer.end()) return nullptr;
  if (!steps->is_array()) fail(ErrorCode::kBadRequest, "field steps: expected an array");
  return *steps;
}

// How many log-probabilities the recorded steps have.
int64_t logprobs_of(const Json& steps) {
  if (!steps.is_array() || steps.empty()) return -1;
  const Json& top = field_of(steps.front(), "top");
  if (!top.is_array()) fail(ErrorCode::kBadRequest, "field top: expected an array");
  return static_cast<int64_t>(top.size());
}

}  // namespace

RecordedModel recorded_model(const Json& receipt) {
  RecordedModel model;
  model.tree_hash = text_of(field_of(receipt, "model"), "tree_xxh128");
  model.isa = text_of(receipt, "isa");
  model.compute = choice_of<2>(receipt, "compute", {"fast", "exact"});
  model.kv_type = choice_of<3>(receipt, "kv_type", {"f16", "f32", "q8_0"});
  model.ctx = count_of(receipt, "ctx", 1);
  model.rope_set = shown(field_of(receipt, "rope_set"));
  model.version = text_of(receipt, "version");
  return model;
}

Recording parse_recording(const Json& answer) {
  const Json& receipt = field_of(answer, "receipt");
  Recording recording;
  recording.prompt = token_ids_of("prompt_ids", field_of(answer, "prompt_ids"));
  recording.ids = token_ids_of("ids", field_of(answer, "ids"));
  recording.steps = steps_of(answer);
  recording.options = options_of(receipt);
  recording.options.logprobs = logprobs_of(recording.steps);
  recording.model = recorded_model(receipt);
  const Json& stop = field_of(receipt, "stop");
  if (!stop.is_array()) fail(ErrorCode::kBadRequest, "field stop: expected an array");
  recording.is_cut = !stop.empty() || text_of(answer, "finish") == "cancelled";
  return recording;
}

std::vector<std::string> differences(const RecordedModel& recorded, const RecordedModel& here) {
  std::vector<std::string> found;
  const auto compare = [&](std::string_view what, const std::string& then, const std::string& now) {
    if (then != now) found.push_back(fmt::format("other {}: {}, here {}", what, printable(then), printable(now)));
  };
  compare("model file", recorded.tree_hash, here.tree_hash);
  compare("compute mode", recorded.compute, here.compute);
  compare("kv type", recorded.kv_type, here.kv_type);
  compare("context size", std::to_string(recorded.ctx), std::to_string(here.ctx));
  compare("set of RoPE factors", recorded.rope_set, here.rope_set);
  compare("version of lockstep", recorded.version, here.version);
  return found;
}

}  // namespace lockstep
