#include "interference.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

namespace lockstep {
namespace {

double busy_now() {
  std::ifstream in("/proc/stat");
  std::string line;
  std::getline(in, line);
  return busy_seconds(line, static_cast<double>(::sysconf(_SC_CLK_TCK))).value_or(0.0);
}

double own_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

// proc(5): "cpu user nice system idle iowait irq softirq steal ..." in ticks.
std::optional<double> busy_seconds(std::string_view proc_stat, double ticks_per_second) {
  std::istringstream in{std::string(proc_stat)};
  std::string name;
  std::array<double, 8> ticks = {};
  in >> name;
  for (double& value : ticks) in >> value;
  if (!in || name != "cpu") return std::nullopt;
  const auto [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
  return (user + nice + system + irq + softirq + steal) / ticks_per_second;
}

InterferenceGuard::InterferenceGuard()
    : start_(std::chrono::steady_clock::now()), busy_(busy_now()), own_(own_seconds()) {}

double InterferenceGuard::foreign_cpus() const {
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double foreign = (busy_now() - busy_) - (own_seconds() - own_);
  return wall > 0 ? std::max(0.0, foreign / wall) : 0.0;
}

}  // namespace lockstep
