#include "model_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "gguf/named_errors.h"
#include "interrupt.h"
#include "kernels/select.h"
#include "messages.h"
#include "model_path.h"
#include "number_text.h"
#include "progress_line.h"
#include "usage.h"

namespace lockstep {
namespace {

constexpr int64_t kMostInt = std::numeric_limits<int64_t>::max();
constexpr double kMegabyte = 1e6;

model::Compute parse_compute(const std::string& text) {
  if (text == "fast") return model::Compute::kFast;
  if (text == "exact") return model::Compute::kExact;
  fail(ErrorCode::kBadRequest, "option compute: unknown mode \"{}\", expected fast or exact", printable(text));
}

kernels::CacheType parse_kv_type(const std::string& text) {
  if (text == "f16") return kernels::CacheType::kF16;
  if (text == "f32") return kernels::CacheType::kF32;
  if (text == "q8_0") return kernels::CacheType::kQ8_0;
  fail(ErrorCode::kBadRequest, "option kv-type: unknown type \"{}\", expected f16, f32 or q8_0", printable(text));
}

engine::EngineOptions parse_engine_options(const ModelOptions& options) {
  engine::EngineOptions result;
  result.ctx_size = parse_integer("ctx-size", options.ctx_size, {0, kMostInt});
  result.batch_size = parse_integer("batch-size", options.batch_size, {1, engine::Engine::kMaxBatch});
  result.threads = static_cast<int>(parse_integer("threads", options.threads, {0, exec::Team::kMaxMembers}));
  result.compute = parse_compute(options.compute);
  result.kv_type = parse_kv_type(options.kv_type);
  result.isa = options.isa;
  static_cast<void>(kernels::select_table(options.isa));
  return result;
}

CLI::Option* add(CLI::App& command, const std::string& names, std::string& slot, const std::string& value,
                 const std::string& help) {
  return command.add_option(names, slot, help)
      ->type_name(value)
      ->capture_default_str()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

void add_model_argument(CLI::App& command, ModelOptions& options) {
  command
      .add_option("MODEL", options.positional,
                  "path of a GGUF file, the name of one in $LOCKSTEP_MODELS or ./models, or ollama:NAME[:TAG]")
      ->type_name("");
  add(command, "-m,--model", options.flag, "MODEL", "the model, instead of the first argument");
}

void add_compute_options(CLI::App& command, ModelOptions& options) {
  add(command, "-c,--ctx-size", options.ctx_size, "N", "tokens of context; 0: what the model was trained for");
  add(command, "-b,--batch-size", options.batch_size, "N", "most tokens of one forward pass");
  add(command, "-t,--threads", options.threads, "N", "threads; 0: one per usable CPU");
  add(command, "--compute", options.compute, "MODE",
      "fast: 8-bit activations; exact: weights dequantized exactly, 32-bit activations");
  add(command, "--kv-type", options.kv_type, "TYPE", "f16, f32 or q8_0: how keys and values are kept");
  add_isa_option(command, options, "the kernel set; auto: the best that this CPU has");
}

void add_isa_option(CLI::App& command, ModelOptions& options, const std::string& help) {
  add(command, "--isa", options.isa, "NAME", help)->envname("LOCKSTEP_ISA");
}

void settle_model_argument(ModelOptions& options) {
  if (!options.flag.empty() && options.positional) {
    fail(ErrorCode::kUsage, "the model is given twice, by -m and as \"{}\"", printable(*options.positional));
  }
  std::optional<std::string> none;
  settle_model_argument(options, none);
}

void settle_model_argument(ModelOptions& options, std::optional<std::string>& next) {
  if (!options.flag.empty()) {
    if (next) {
      fail(ErrorCode::kUsage, "the model is given twice, by -m and as \"{}\"", printable(*options.positional));
    }
    next = std::exchange(options.positional, options.flag);
  }
  if (!options.positional) fail(ErrorCode::kUsage, "no MODEL is given");
}

engine::EngineOptions engine_options(const ModelOptions& options) {
  return as_usage([&] { return parse_engine_options(options); });
}

std::filesystem::path model_path(const ModelOptions& options) {
  return find_model(*options.positional, model_folders());
}

tokenizer::Tokenizer load_tokenizer(const ModelOptions& options) {
  const gguf::ModelFile file = gguf::ModelFile::open(model_path(options));
  return gguf::naming(file, [&] { return tokenizer::Tokenizer::load(file.metadata()); });
}

void print_warnings(const tokenizer::Tokenizer& tokenizer) {
  for (const std::string& warning : tokenizer.warnings()) print_warning(warning);
}

namespace {

void print_warnings(const model::Model& model) {
  if (!model.config.warning.empty()) print_warning(model.config.warning);
  if (model.start_check->ok()) return;
  print_warning(fmt::format("THIS MACHINE COMPUTES WRONGLY with the kernel set {}:", model.kernels->isa));
  for (const std::string& fault : model.start_check->faults) print_warning(fault);
  print_warning("the answer stays right and comes slowly; see lockstep doctor");
}

}  // namespace

LoadedModel load_model(const ModelOptions& options) {
  engine::EngineOptions with_progress = engine_options(options);
  LoadedModel loaded = {model_path(options), nullptr, {}, 0};
  ProgressLine line("loading", "MB", kMegabyte);
  with_progress.progress = [&](uint64_t done, uint64_t total) {
    stop_if_interrupted();
    line.update(done, total);
  };
  const auto start = std::chrono::steady_clock::now();
  const gguf::ModelFile file = gguf::ModelFile::open(loaded.path);
  loaded.file = file_facts(file);
  loaded.engine = engine::Engine::load(file, with_progress);
  loaded.load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  line.clear();
  print_warnings(loaded.engine->model());
  return loaded;
}

}  // namespace lockstep
