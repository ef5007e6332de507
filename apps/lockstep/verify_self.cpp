#include "verify_self.h"

#include <fmt/format.h>

#include "exit_status.h"
#include "gguf/named_errors.h"
#include "json_text.h"
#include "messages.h"
#include "progress_line.h"
#include "verify/self_check.h"

namespace lockstep {
namespace {

using verify::CheckedPath;
using verify::SelfCheckResult;

Json path_json(const CheckedPath& path) {
  Json json = {{"isa", path.isa},
               {"threads", path.shape.threads},
               {"chunk", path.shape.chunk},
               {"neighbours", path.shape.neighbours},
               {"prefix", path.prefix},
               {"calls", path.calls},
               {"hash", path.hash.empty() ? Json() : Json(path.hash)}};
  if (!path.fault.empty()) json["fault"] = path.fault;
  return json;
}

Json result_json(const SelfCheckResult& result) {
  Json paths = Json::array();
  for (const CheckedPath& path : result.paths) paths.push_back(path_json(path));
  return {{"equal", result.equal}, {"hash", result.hash}, {"paths", std::move(paths)}};
}

// The kernels that decide: products and attention, with their calls.
std::string calls_text(const CheckedPath& path) {
  std::string text;
  for (const auto& [kernel, n] : path.calls) {
    const bool decides = kernel.starts_with("fast") || kernel.starts_with("exact") || kernel.starts_with("attend");
    if (decides) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kernel, n);
  }
  return text;
}

std::string result_text(const SelfCheckResult& result) {
  std::string text = fmt::format("{:<14}{:>8}{:>7}{:>8}  {:<24}{:<16}{}\n", "kernels", "threads", "chunk", "beside",
                                 "prefix", "logits", "calls");
  for (const CheckedPath& path : result.paths) {
    const bool same = path.hash == result.hash;
    text += fmt::format("{:<14}{:>8}{:>7}{:>8}  {:<24}{:<16}{}\n", path.isa, path.shape.threads, path.shape.chunk,
                        path.shape.neighbours, path.prefix,
                        path.hash.empty() ? "none" : path.hash.substr(0, 12) + (same ? "" : " !"), calls_text(path));
    if (!path.fault.empty()) text += fmt::format("              FAULT: {}\n", path.fault);
  }
  return text + (result.equal ? fmt::format("equal: {} paths, the same bits\n", result.paths.size())
                              : "NOT EQUAL: this machine or build does not keep the contract\n");
}

}  // namespace

int run_verify_self(const ModelOptions& model, const VerifySelfOptions& options, Output& output) {
  const engine::EngineOptions engine = engine_options(model);
  ProgressLine line;
  verify::SelfCheckOptions how;
  how.full = options.full;
  how.compute = engine.compute;
  how.cache_type = engine.kv_type;
  how.progress = [&](const verify::SelfCheckProgress& progress) {
    line.show(fmt::format("path {} of {}: {}", progress.n_done + 1, progress.n_paths, progress.isa));
  };
  const gguf::ModelFile file = gguf::ModelFile::open(model_path(model));
  const SelfCheckResult result =
      gguf::naming(file, [&] { return verify::self_check(file.file().path().string(), how); });
  line.clear();
  if (options.json) {
    output.write_line(result_json(result));
  } else {
    output.write(result_text(result));
  }
  return result.equal ? kExitDone : kExitFailed;
}

}  // namespace lockstep
