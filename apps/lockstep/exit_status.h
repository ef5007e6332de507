// What the program tells its caller.
#pragma once

namespace lockstep {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;  // the command line alone is wrong
inline constexpr int kExitInterrupted = 130;

}  // namespace lockstep
