#include "base/error.h"
#include "commands.h"
#include "exit_status.h"
#include "info.h"
#include "model_options.h"

namespace lockstep {
namespace {

struct InfoOptions {
  ModelOptions model;
  bool json = false;
  bool full = false;
};

int run_info(InfoOptions& options, Output& output) {
  settle_model_argument(options.model);
  if (options.full && !options.json) fail(ErrorCode::kUsage, "--full needs --json");
  const gguf::ModelFile model = gguf::ModelFile::open(model_path(options.model));
  if (options.json) {
    output.write_line(info_json(model, options.full));
  } else {
    output.write(info_text(model));
  }
  return kExitDone;
}

}  // namespace

void add_info_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App& command = add_command(program, chosen, "info", "shows what a model file holds", options, run_info);
  add_model_argument(command, options->model);
  command.add_flag("--json", options->json, "one JSON object");
  command.add_flag("--full", options->full, "with --json: arrays of any length");
}

}  // namespace lockstep
