// For tests only: the most memory that this process had, on Linux. Not for tests that run beside others in one process.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace lockstep {

// Peak resident memory in bytes since count_peak_memory_anew(); 0 where the system does not tell.
inline uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

// From here on (proc(5): clear_refs); peak_memory() is what is resident then.
inline void count_peak_memory_anew() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace lockstep
