#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "answer.h"
#include "base/error.h"
#include "base/file.h"
#include "commands.h"
#include "exit_status.h"
#include "messages.h"
#include "model_options.h"
#include "number_text.h"
#include "progress_line.h"
#include "receipt.h"
#include "recording.h"
#include "usage.h"

namespace lockstep {
namespace {

using tokenizer::TokenId;

// The value of an option that is taken from each receipt.
constexpr const char* kRecorded = "recorded";

constexpr uint64_t kMostRecordingBytes = uint64_t{1} << 28;

struct ReplayOptions {
  ModelOptions model;
  std::optional<std::string> file;
  bool json = false;
};

// The model in the mode that a recording asks for; loaded anew only when that changes.
class ModelInMode {
 public:
  explicit ModelInMode(const ModelOptions& options) : options_(options) {}

  const LoadedModel& load(const RecordedModel& recorded) {
    ModelOptions wanted = options_;
    fill(wanted.compute, recorded.compute);
    fill(wanted.kv_type, recorded.kv_type);
    fill(wanted.ctx_size, std::to_string(recorded.ctx));
    const std::string mode = wanted.compute + " " + wanted.kv_type + " " + wanted.ctx_size;
    if (!loaded_ || mode != mode_) {
      loaded_.reset();  // its memory is wanted for the next
      loaded_ = load_model(wanted);
      mode_ = mode;
    }
    return *loaded_;
  }

  [[nodiscard]] const LoadedModel* loaded() const { return loaded_ ? &*loaded_ : nullptr; }

 private:
  static void fill(std::string& option, const std::string& recorded) {
    if (option == kRecorded) option = recorded;
  }

  const ModelOptions& options_;
  std::string mode_;
  std::optional<LoadedModel> loaded_;
};

struct Verdict {
  std::optional<size_t> position;  // of the first generated token that is not the recorded one; none: identical
  size_t n_tokens = 0;
  std::vector<std::string> differences;  // of the receipts

  RecordedModel recorded, here;

  [[nodiscard]] std::string why() const {
    if (!differences.empty()) return joined();
    const std::string sets = recorded.isa == here.isa ? "nothing in the receipts differs"
                                                      : fmt::format("only the kernel set differs, {}, here {}",
                                                                    printable(recorded.isa), here.isa);
    return sets + ": an edited recording, or a fault of this machine or of lockstep, see lockstep verify --self";
  }
  [[nodiscard]] std::string joined() const {
    std::string text;
    for (const std::string& difference : differences) text += (text.empty() ? "" : "; ") + difference;
    return text;
  }
};

// The first place where the ids, or the log-probabilities where there are some, are not the same bits.
std::optional<size_t> first_difference(const Recording& recording, const Json& answer) {
  const auto ids = answer.at("ids").get<std::vector<TokenId>>();
  const auto [ours, theirs] = std::ranges::mismatch(ids, recording.ids);
  auto position = static_cast<size_t>(ours - ids.begin());
  const bool same_ids = ours == ids.end() && theirs == recording.ids.end();
  if (recording.steps.is_array()) {
    const Json steps = answer.value("steps", Json::array());
    const auto [our_step, their_step] = std::ranges::mismatch(steps, recording.steps);
    const auto same_steps = static_cast<size_t>(our_step - steps.begin());
    if (our_step != steps.end() || their_step != recording.steps.end()) return std::min(position, same_steps);
  }
  return same_ids ? std::nullopt : std::optional(position);
}

Verdict replay(ModelInMode& model, const Json& answer) {
  const Recording recording = parse_recording(answer);
  const LoadedModel& loaded = model.load(recording.model);
  engine::GenerateOptions options = recording.options;
  if (recording.is_cut) options.n_predict = static_cast<int64_t>(recording.ids.size());
  engine::Session session(*loaded.engine);
  const engine::Generated generated = engine::generate(session, *loaded.engine, recording.prompt, options, {});
  const Json again = answer_json(generated, recording.prompt, loaded.engine->tokenizer(), loaded.load_ms);
  const RecordedModel here = recorded_model(request_receipt(model_receipt(loaded.file, *loaded.engine), options));
  return {first_difference(recording, again), recording.ids.size(), differences(recording.model, here), recording.model,
          here};
}

Json verdict_json(const Verdict& verdict) {
  if (!verdict.position) return {{"identical", true}, {"differences", verdict.differences}};
  return {{"identical", false},
          {"position", *verdict.position},
          {"why", verdict.why()},
          {"differences", verdict.differences}};
}

std::string verdict_text(const Verdict& verdict) {
  if (verdict.position) return fmt::format("differs from token {} on: {}", *verdict.position, verdict.why());
  std::string text = fmt::format("identical, {} tokens", verdict.n_tokens);
  return verdict.differences.empty() ? text : text + " (in spite of " + verdict.joined() + ")";
}

// Lines of a recording that say nothing of their own: parts of an answer that is told as it comes.
bool is_part_of_an_answer(const Json& line) {
  return line.is_object() && line.contains("delta") && !line.contains("receipt");
}

// Whether an error is the recording's own, or one that every other line would meet too.
bool is_of_the_recording(ErrorCode code) {
  return code == ErrorCode::kBadRequest || code == ErrorCode::kContextFull || code == ErrorCode::kNotFinite;
}

class Replayer {
 public:
  Replayer(const ReplayOptions& options, Output& output)
      : model_(options.model), json_(options.json), output_(output) {}

  void line(size_t number, std::string_view text) {
    try {
      const Json answer = parse_json(text);
      if (is_part_of_an_answer(answer)) return;
      const Verdict verdict = replay(model_, answer);
      n_identical_ += verdict.position ? 0 : 1;
      tell(number, verdict_json(verdict), verdict_text(verdict));
    } catch (const Error& error) {
      if (!is_of_the_recording(error.code())) throw;
      tell(number, error_json(to_string(error.code()), error.what()),
           fmt::format("cannot be replayed: {}", error.what()));
    }
  }

  int finish() {
    if (n_ == 0) fail(ErrorCode::kBadRequest, "no recorded answer, expected lines as complete --json writes them");
    progress_.clear();
    if (const LoadedModel* loaded = model_.loaded()) print_warnings(loaded->engine->tokenizer());
    print_note(fmt::format("{} of {} answers are identical", n_identical_, n_));
    return n_identical_ == n_ ? kExitDone : kExitFailed;
  }

 private:
  void tell(size_t number, const Json& json, const std::string& text) {
    ++n_;
    progress_.clear();
    if (json_) {
      output_.write_line(json);
    } else {
      output_.write(fmt::format("line {}: {}\n", number, text));
      output_.flush();
    }
  }

  ModelInMode model_;
  bool json_;
  Output& output_;
  ProgressLine progress_;
  int64_t n_ = 0;
  int64_t n_identical_ = 0;
};

// What the command line alone decides is judged before anything is read.
void check(const ReplayOptions& options) {
  ModelOptions given = options.model;
  if (given.compute == kRecorded) given.compute = "fast";
  if (given.kv_type == kRecorded) given.kv_type = "f16";
  if (given.ctx_size == kRecorded) given.ctx_size = "0";
  static_cast<void>(engine_options(given));
}

int run_replay(ReplayOptions& options, Output& output) {
  settle_model_argument(options.model, options.file);
  if (!options.file) fail(ErrorCode::kUsage, "no FILE of recorded answers is given");
  check(options);
  const std::string text = read_text_file(*options.file, kMostRecordingBytes);
  static_cast<void>(model_path(options.model));
  Replayer replayer(options, output);
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    ++number;
    if (line.find_first_not_of(" \t\r") != line.npos) replayer.line(number, line);
    begin = end + 1;
  }
  return replayer.finish();
}

}  // namespace

void add_replay_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ReplayOptions>();
  options->model.compute = options->model.kv_type = options->model.ctx_size = kRecorded;
  CLI::App& command = add_command(program, chosen, "replay", "computes recorded answers again and compares the bits",
                                  options, run_replay);
  add_model_argument(command, options->model);
  command.add_option("FILE", options->file, "answers as complete --json writes them, one a line")->type_name("");
  command.add_flag("--json", options->json, "one JSON object for each recorded answer");
  add_compute_options(command, options->model);
}

}  // namespace lockstep
