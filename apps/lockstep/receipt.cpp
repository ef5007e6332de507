#include "receipt.h"

#include <cmath>

#include "kernels/select.h"

#include "model_hash.h"

namespace lockstep {
namespace {

using sampling::SamplingParams;
using sampling::Stage;

std::optional<std::string> template_hash(const gguf::ModelFile& file) {
  const std::string* text = file.metadata().find_string("tokenizer.chat_template");
  return text == nullptr ? std::nullopt : std::optional(text_xxh128(*text));
}

uint64_t total_bytes(const gguf::ModelFile& file) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < file.n_shards(); ++i) bytes += file.file(i).size();
  return bytes;
}

Json temperature_json(const SamplingParams& p) {
  return {{"stage", "temperature"},
          {"temp", shortest(p.temp)},
          {"dynatemp_range", shortest(p.dynatemp_range)},
          {"dynatemp_exp", shortest(p.dynatemp_exponent)}};
}

Json penalties_json(const SamplingParams& p) {
  return {{"stage", "penalties"},
          {"repeat_last_n", p.repeat_last_n},
          {"repeat_penalty", shortest(p.repeat_penalty)},
          {"presence_penalty", shortest(p.presence_penalty)},
          {"frequency_penalty", shortest(p.frequency_penalty)}};
}

Json dry_json(const SamplingParams& p) {
  Json breakers = Json::array();
  for (const std::string& text : p.dry_sequence_breakers) breakers.push_back(text);
  return {{"stage", "dry"},
          {"dry_multiplier", shortest(p.dry_multiplier)},
          {"dry_base", shortest(p.dry_base)},
          {"dry_allowed_length", p.dry_allowed_length},
          {"dry_penalty_last_n", p.dry_penalty_last_n},
          {"dry_sequence_breaker", std::move(breakers)}};
}

// A stage with all its parameters, by the names of the options that set them.
Json stage_json(Stage stage, const SamplingParams& p) {
  const std::string_view name = to_string(stage);
  switch (stage) {
    case Stage::kPenalties:
      return penalties_json(p);
    case Stage::kDry:
      return dry_json(p);
    case Stage::kTopNSigma:
      return {{"stage", name}, {"top_n_sigma", shortest(p.top_n_sigma)}};
    case Stage::kTopK:
      return {{"stage", name}, {"top_k", p.top_k}};
    case Stage::kTypicalP:
      return {{"stage", name}, {"typical", shortest(p.typical)}, {"min_keep", p.min_keep}};
    case Stage::kTopP:
      return {{"stage", name}, {"top_p", shortest(p.top_p)}, {"min_keep", p.min_keep}};
    case Stage::kMinP:
      return {{"stage", name}, {"min_p", shortest(p.min_p)}, {"min_keep", p.min_keep}};
    case Stage::kXtc:
      return {{"stage", name},
              {"xtc_probability", shortest(p.xtc_probability)},
              {"xtc_threshold", shortest(p.xtc_threshold)},
              {"min_keep", p.min_keep}};
    case Stage::kTemperature:
      return temperature_json(p);
  }
  return nullptr;
}

Json samplers_json(const SamplingParams& p) {
  Json stages = Json::array();
  if (p.mirostat != 0) {
    stages.push_back(temperature_json(p));
    stages.push_back({{"stage", "mirostat"},
                      {"mirostat", p.mirostat},
                      {"mirostat_ent", shortest(p.mirostat_tau)},
                      {"mirostat_lr", shortest(p.mirostat_eta)}});
    return stages;
  }
  for (const Stage stage : p.stages) stages.push_back(stage_json(stage, p));
  return stages;
}

// [[id, bias], ...] with false for -infinity, as a request may give it.
Json logit_bias_json(const SamplingParams& p) {
  Json biases = Json::array();
  for (const sampling::LogitBias& entry : p.logit_bias) {
    biases.push_back({entry.id, std::isinf(entry.bias) ? Json(false) : Json(shortest(entry.bias))});
  }
  return biases;
}

}  // namespace

FileFacts file_facts(const gguf::ModelFile& file) {
  return {total_bytes(file), file.tensors().size(), template_hash(file)};
}

Json model_receipt(const FileFacts& file, const engine::Engine& engine) {
  const model::Model& model = engine.model();
  return {{"model", {{"tree_xxh128", model.weights.tree_hash}, {"bytes", file.bytes}}},
          {"template_xxh128", file.template_xxh128 ? Json(*file.template_xxh128) : Json()},
          {"n_tensors", file.n_tensors},
          {"isa", model.kernels->isa},
          {"compute", model.compute == model::Compute::kFast ? "fast" : "exact"},
          {"kv_type", kernels::to_string(model.cache_type)},
          {"ctx", engine.ctx_size()},
          {"rope_set", nullptr}};
}

Json request_receipt(const Json& model_receipt, const engine::GenerateOptions& request) {
  Json receipt = model_receipt;
  receipt["seed"] = request.sampling.seed;
  receipt["samplers"] = samplers_json(request.sampling);
  receipt["n_predict"] = request.n_predict;
  receipt["ignore_eos"] = request.ignore_eos;
  receipt["stop"] = request.stop;
  receipt["logit_bias"] = logit_bias_json(request.sampling);
  receipt["version"] = LOCKSTEP_VERSION;
  return receipt;
}

}  // namespace lockstep
