// The model files of public bug reports, each through what `info` and a short `complete` do: whether it is refused with
// a message that names the thing, in which time and with which memory.
//   refusal_campaign MODEL.gguf [--report FILE.json]
// Ends with status 1 when one is not. The files that other tests make with more than one file, a disk or a second
// process are not among them (tests/cases.md names all tests).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "campaign/hostile_files.h"
#include "campaign/trial.h"
#include "campaign/watchdog.h"
#include "forge/memory_file.h"
#include "forge/sanitized.h"

namespace lockstep::campaign {
namespace {

constexpr double kMostCpuMs = 1000;

struct Tally {
  uint64_t tried = 0;
  uint64_t refused_rightly = 0;
  double worst_cpu_ms = 0;
  uint64_t worst_extra_bytes = 0;
};

// What is wrong with the refusal; empty when nothing is.
std::string fault_of(const HostileFile& file, const Trial& trial) {
  if (trial.ending != Ending::kRefused && trial.ending != Ending::kFailed) return "not refused: " + trial.message;
  if (trial.message.find(file.names) == std::string::npos)
    return fmt::format("the message does not name {}: {}", file.names, trial.message);
  if (kSanitized) return "";
  if (trial.cpu_ms > kMostCpuMs) return fmt::format("{:.0f} ms", trial.cpu_ms);
  if (extra_bytes(trial, file.bytes.size()) > kMostExtraBytes)
    return fmt::format("{} bytes of memory for a file of {}", trial.peak_bytes, file.bytes.size());
  return "";
}

class Refusals {
 public:
  void attempt(const HostileFile& file) {
    memory_.set(file.bytes);
    watchdog_.start(fmt::format("{}: {}", file.case_id, file.what));
    const Trial trial = try_model(memory_.path());
    watchdog_.stop();
    const std::string fault = fault_of(file, trial);
    Tally& tally = tallies_[file.case_id];
    ++tally.tried;
    tally.refused_rightly += fault.empty() ? 1 : 0;
    tally.worst_cpu_ms = std::max(tally.worst_cpu_ms, trial.cpu_ms);
    tally.worst_extra_bytes = std::max(tally.worst_extra_bytes, extra_bytes(trial, file.bytes.size()));
    if (fault.empty()) return;
    all_right_ = false;
    fmt::print("FINDING {}: {}: {}\n", file.case_id, file.what, fault);
  }

  void print() const {
    fmt::print("{:<5} {:>6} {:>16} {:>8} {:>16}\n", "case", "files", "refused rightly", "most ms", "most extra MB");
    for (const auto& [id, t] : tallies_) {
      fmt::print("{:<5} {:>6} {:>16} {:>8.1f} {:>16.1f}\n", id, t.tried, t.refused_rightly, t.worst_cpu_ms,
                 static_cast<double>(t.worst_extra_bytes) / 1e6);
    }
  }

  void write_report(const std::string& path) const {
    nlohmann::ordered_json report = {{"sanitized", kSanitized}, {"cases", nlohmann::ordered_json::array()}};
    for (const auto& [id, t] : tallies_) {
      report["cases"].push_back({{"case", id},
                                 {"files", t.tried},
                                 {"refused_rightly", t.refused_rightly},
                                 {"worst_cpu_ms", t.worst_cpu_ms},
                                 {"worst_extra_bytes", t.worst_extra_bytes}});
    }
    std::ofstream(path) << report.dump(1) << '\n';
  }

  [[nodiscard]] bool all_right() const { return all_right_; }

 private:
  Watchdog watchdog_;
  forge::MemoryFile memory_;
  std::map<std::string, Tally> tallies_;
  bool all_right_ = true;
};

}  // namespace
}  // namespace lockstep::campaign

int main(int argc, char** argv) {
  using namespace lockstep::campaign;
  const bool reports = argc == 4 && std::string_view(argv[2]) == "--report";
  if (argc != 2 && !reports) {
    std::fputs("usage: refusal_campaign MODEL.gguf [--report FILE.json]\n", stderr);
    return 2;
  }
  try {
    const std::string good = lockstep::read_text_file(argv[1]);
    Refusals refusals;
    each_hostile_file(good, [&refusals](const HostileFile& file) { refusals.attempt(file); });
    refusals.print();
    if (reports) refusals.write_report(argv[3]);
    return refusals.all_right() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
