#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "base/cpu.h"
#include "base/memory.h"
#include "commands.h"
#include "doctor_machine.h"
#include "exit_status.h"
#include "gguf/model_file.h"
#include "gguf/named_errors.h"
#include "json_text.h"
#include "kernels/kernel_check.h"
#include "kernels/select.h"
#include "model/config.h"
#include "model/model.h"
#include "model_memory.h"
#include "model_options.h"
#include "usage.h"

namespace lockstep {
namespace {

struct DoctorOptions {
  ModelOptions model;
  bool json = false;
};

struct TestedTable {
  std::string isa;
  kernels::SelfTestResult result;
};

struct SelfTests {
  std::vector<TestedTable> tables;
  double milliseconds;
  std::optional<kernels::StartCheck> model;  // the chosen set on the model's own weights, as at every loading

  [[nodiscard]] bool ok() const {
    return (!model || model->ok()) &&
           std::ranges::all_of(tables, [](const TestedTable& tested) { return tested.result.ok(); });
  }
};

struct ModelNeeds {
  std::string path;
  uint64_t weights;
  uint64_t kv_per_token;  // bytes of an F16 cache; 0 when the file does not say
  uint64_t available;     // memory; 0 when the system does not say
};

struct Report {
  std::string cpu;
  std::vector<std::string> features;
  std::string isa;
  std::string why;
  ThreadPlan threads;
  HugePages huge_pages;
  SelfTests self_test;
  std::optional<ModelNeeds> model;
};

kernels::StartCheck test_model(const ModelOptions& options) {
  const gguf::ModelFile file = gguf::ModelFile::open(model_path(options));
  const kernels::KernelTable& table = kernels::select_table(options.isa);
  return gguf::naming(file, [&] { return model::check_kernels(file, table, kernels::CacheType::kF16); });
}

SelfTests test_tables() {
  const auto start = std::chrono::steady_clock::now();
  SelfTests tests = {};
  for (const kernels::KernelTable* table : kernels::available_tables())
    tests.tables.push_back({table->isa, kernels::self_test(*table)});
  tests.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return tests;
}

std::string why_isa(const std::string& wanted) {
  if (wanted != "auto") return "asked for by --isa or LOCKSTEP_ISA";
  std::string others;
  for (const kernels::KernelTable* table : kernels::available_tables().subspan(1))
    others += fmt::format("{}{}", others.empty() ? "" : ", ", table->isa);
  return others.empty() ? "the only set that this CPU and build have"
                        : fmt::format("the best that this CPU and build have; there are also {}", others);
}

ModelNeeds needs_of(const ModelOptions& options) {
  const std::filesystem::path path = model_path(options);
  const gguf::ModelFile file = gguf::ModelFile::open(path);
  const ModelMemory memory = measure_memory(file);
  const uint64_t elements = memory.kv_elements_per_token.value_or(0);
  const std::optional<MemoryRoom> room = memory_room();
  return {path.string(), memory.weights, kv_bytes(elements).f16, room ? room->bytes : 0};
}

Report examine(const DoctorOptions& options) {
  const bool has_model = options.model.positional.has_value();
  SelfTests tests = test_tables();
  if (has_model) tests.model = test_model(options.model);
  return {cpu_name(system_file("/proc/cpuinfo")),
          feature_names(cpu_features()),
          as_usage([&] { return kernels::select_table(options.model.isa).isa; }),
          why_isa(options.model.isa),
          thread_plan(),
          try_huge_pages(),
          std::move(tests),
          has_model ? std::optional(needs_of(options.model)) : std::nullopt};
}

Json self_test_json(const SelfTests& tests) {
  Json tables = Json::array();
  for (const TestedTable& tested : tests.tables) {
    tables.push_back({{"isa", tested.isa},
                      {"ok", tested.result.ok()},
                      {"checks", tested.result.checks},
                      {"failures", tested.result.failures}});
  }
  Json result = {{"ok", tests.ok()}, {"ms", tests.milliseconds}, {"tables", std::move(tables)}};
  if (tests.model) {
    result["model"] = {{"ok", tests.model->ok()}, {"checks", tests.model->checks}, {"faults", tests.model->faults}};
  }
  return result;
}

Json report_json(const Report& report) {
  Json result = {
      {"cpu", report.cpu},
      {"features", report.features},
      {"isa", report.isa},
      {"why", report.why},
      {"threads",
       {{"decode", report.threads.decode}, {"prefill", report.threads.prefill}, {"why", report.threads.why}}},
      {"huge_pages",
       {{"ok", report.huge_pages.ok()},
        {"setting", report.huge_pages.setting},
        {"wanted", report.huge_pages.wanted},
        {"got", report.huge_pages.got}}},
      {"self_test", self_test_json(report.self_test)}};
  if (report.model) {
    const ModelNeeds& m = *report.model;
    result["model"] = {
        {"path", m.path}, {"weights", m.weights}, {"kv_per_token", m.kv_per_token}, {"memory_available", m.available}};
  }
  return result;
}

std::string report_text(const Report& report) {
  constexpr double kMegabyte = 1e6;
  std::string features;
  for (const std::string& name : report.features) features += (features.empty() ? "" : ", ") + name;
  std::string text = fmt::format("CPU         {}\nfeatures    {}\nkernels     {}: {}\n", report.cpu,
                                 features.empty() ? "none that kernels use" : features, report.isa, report.why);
  text += fmt::format("threads     {} for decode, {} for prefill: {}\n", report.threads.decode, report.threads.prefill,
                      report.threads.why);
  const HugePages& huge = report.huge_pages;
  text += fmt::format("huge pages  {}: {} of {} MiB of a try are in 2 MiB pages; the system's setting is \"{}\"\n",
                      huge.ok() ? "ok" : "not all", huge.got >> 20, huge.wanted >> 20,
                      huge.setting.empty() ? "none" : huge.setting);
  for (const TestedTable& tested : report.self_test.tables) {
    text += fmt::format("self-test   {}: {} of {} checks equal the definition\n", tested.isa,
                        tested.result.checks - static_cast<int>(tested.result.failures.size()), tested.result.checks);
    for (const std::string& failure : tested.result.failures) text += fmt::format("            differs: {}\n", failure);
  }
  if (report.self_test.model) {
    const kernels::StartCheck& check = *report.self_test.model;
    text += fmt::format("self-test   {}, on the model's own weights: {} of {} checks equal the definition\n",
                        report.isa, check.checks - static_cast<int>(check.faults.size()), check.checks);
    for (const std::string& fault : check.faults) text += fmt::format("            {}\n", fault);
  }
  if (report.model) {
    const ModelNeeds& m = *report.model;
    text += fmt::format(
        "model       {:.1f} MB of weights, {} bytes of F16 cache a token; {:.1f} MB of memory are available\n",
        static_cast<double>(m.weights) / kMegabyte, m.kv_per_token, static_cast<double>(m.available) / kMegabyte);
  }
  return text;
}

int run_doctor(DoctorOptions& options, Output& output) {
  if (options.model.positional || !options.model.flag.empty()) settle_model_argument(options.model);
  const Report report = examine(options);
  if (options.json) {
    output.write_line(report_json(report));
  } else {
    output.write(report_text(report));
  }
  return report.self_test.ok() ? kExitDone : kExitFailed;
}

}  // namespace

void add_doctor_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App& command =
      add_command(program, chosen, "doctor", "shows what runs here, why, and whether it is right", options, run_doctor);
  add_model_argument(command, options->model);
  add_isa_option(command, options->model, "the kernel set to ask about");
  command.add_flag("--json", options->json, "one JSON object");
}

}  // namespace lockstep
