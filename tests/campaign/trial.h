// For tests only: what `lockstep info` and a short `lockstep complete` do with a model file, in this process, and what
// it cost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lockstep::campaign {

enum class Ending {
  kRefused,   // an Error before there was a model
  kAccepted,  // some tokens came
  kFailed,    // an Error after the model was loaded
  kFinding,   // any other exception, or an error that is not one line
};
inline constexpr size_t kEndings = 4;

struct Trial {
  Ending ending;
  std::string message;  // of the error; empty when accepted
  double cpu_ms;        // of this process: what else runs on the machine does not count
  uint64_t peak_bytes;  // most resident memory beyond what was there before; 0 where the system cannot say
};

// What a refused file may cost beside its own size (tests/cases.md).
inline constexpr uint64_t kMostExtraBytes = uint64_t{64} << 20;
// Peak memory of a trial beyond the size of its file.
[[nodiscard]] inline uint64_t extra_bytes(const Trial& trial, uint64_t file_bytes) {
  return trial.peak_bytes > file_bytes ? trial.peak_bytes - file_bytes : 0;
}

[[nodiscard]] Trial try_model(const std::filesystem::path& path);

}  // namespace lockstep::campaign
