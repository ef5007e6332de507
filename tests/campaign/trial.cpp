#include "campaign/trial.h"

#include <malloc.h>

#include <ctime>
#include <functional>

#include "base/error.h"
#include "chat/text_stream.h"
#include "engine/generate.h"
#include "forge/peak_memory.h"
#include "gguf/model_file.h"
#include "info.h"
#include "json_text.h"

namespace lockstep::campaign {
namespace {

constexpr int64_t kTokens = 4;

double cpu_ms() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void show_info(const std::filesystem::path& path) {
  const gguf::ModelFile model = gguf::ModelFile::open(path);
  (void)dump_line(info_json(model, false));
  (void)info_text(model, "");
}

std::unique_ptr<engine::Engine> load(const std::filesystem::path& path) {
  engine::EngineOptions options;
  options.threads = 1;
  return engine::Engine::load(path, options);
}

void complete(engine::Engine& engine) {
  engine::Session session(engine);
  engine::GenerateOptions options;
  options.n_predict = kTokens;
  options.sampling.temp = 0.0f;
  const auto prompt = engine.tokenizer().encode("Hello, world! 12", {.add_special = true, .parse_special = true});
  const engine::Generated answer = engine::generate(session, engine, prompt, options);
  (void)chat::answer_text(engine.tokenizer(), answer.ids, {"\n\n"});
}

// Ending and message of `work`, of which an Error ends `refusal`.
void run(Trial& trial, Ending refusal, const std::function<void()>& work) {
  try {
    work();
    trial.ending = Ending::kAccepted;
    trial.message.clear();
  } catch (const Error& error) {
    trial.message = error.what();
    const bool one_line = !trial.message.empty() && trial.message.find('\n') == std::string::npos;
    trial.ending = one_line ? refusal : Ending::kFinding;
  } catch (const std::exception& error) {
    trial.message = std::string("no Error of lockstep's: ") + error.what();
    trial.ending = Ending::kFinding;
  }
}

}  // namespace

Trial try_model(const std::filesystem::path& path) {
  malloc_trim(0);
  count_peak_memory_anew();
  const uint64_t before = peak_memory();
  const double start = cpu_ms();
  Trial trial = {};
  std::unique_ptr<engine::Engine> engine;
  run(trial, Ending::kRefused, [&] { show_info(path); });
  // Also what cannot be shown: it is the model that is refused or not.
  if (trial.ending != Ending::kFinding) run(trial, Ending::kRefused, [&] { engine = load(path); });
  if (engine) run(trial, Ending::kFailed, [&] { complete(*engine); });
  trial.cpu_ms = cpu_ms() - start;
  trial.peak_bytes = peak_memory() - before;
  return trial;
}

}  // namespace lockstep::campaign
