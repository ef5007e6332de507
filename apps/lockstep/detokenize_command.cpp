#include "base/error.h"
#include "commands.h"
#include "exit_status.h"
#include "json_text.h"
#include "model_options.h"
#include "number_text.h"
#include "text_output.h"
#include "usage.h"

namespace lockstep {
namespace {

struct DetokenizeOptions {
  ModelOptions model;
  std::string ids;
  bool json = false;
  bool no_special = false;
};

int run_detokenize(DetokenizeOptions& options, Output& output) {
  settle_model_argument(options.model);
  const std::vector<int32_t> ids = as_usage([&] { return parse_ids("ids", options.ids); });
  const tokenizer::Tokenizer tokenizer = load_tokenizer(options.model);
  const std::string text = tokenizer.decode(ids, {.show_special = !options.no_special});
  if (options.json) {
    Json result = Json::object();
    set_text(result, "text", text);
    output.write_line(result);
  } else {
    TextOutput people(output);
    people.write(text);
    people.end();
  }
  return kExitDone;
}

}  // namespace

void add_detokenize_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<DetokenizeOptions>();
  CLI::App& command = add_command(program, chosen, "detokenize", "turns token ids into text", options, run_detokenize);
  add_model_argument(command, options->model);
  command.add_option("--ids", options->ids, "the token ids")->type_name("1,2,3")->required();
  command.add_flag("--json", options->json, "one JSON object");
  command.add_flag("--no-special", options->no_special, "leave the names of control tokens out");
}

}  // namespace lockstep
