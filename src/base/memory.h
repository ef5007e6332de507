// How much memory this process may still take. A system that hands out more than it has kills processes when they use
// it, so what cannot fit is refused before. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lockstep {

struct MemoryRoom {
  uint64_t bytes;
  std::string of;  // whose it is, for a message: "this machine", "the control group /jobs"
};

// The least of what the machine has available and what the process's control groups (Linux, versions 1 and 2) leave,
// swap included; pages that only cache files count as free. Nothing where the system does not say.
[[nodiscard]] std::optional<MemoryRoom> memory_room();

// The same of a system whose /proc and /sys are below `root`.
[[nodiscard]] std::optional<MemoryRoom> memory_room(const std::filesystem::path& root);

}  // namespace lockstep
