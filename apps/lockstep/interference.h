// Whether somebody else used the processors while something was measured.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace lockstep {

// The first line of /proc/stat as seconds of CPU time not idle, time stolen by other virtual machines included. Nothing
// for a text of another form.
[[nodiscard]] std::optional<double> busy_seconds(std::string_view proc_stat, double ticks_per_second);

class InterferenceGuard {
 public:
  InterferenceGuard();

  // CPUs that others kept busy since the guard was made, on average: 0 on a quiet machine. 0 where the system does not
  // say. Its steps are those of /proc/stat, 10 ms.
  [[nodiscard]] double foreign_cpus() const;

 private:
  std::chrono::steady_clock::time_point start_;
  double busy_;
  double own_;
};

}  // namespace lockstep
