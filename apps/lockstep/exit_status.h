// What the program tells its caller.
#pragma once

namespace lockstep {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;                        // the command line alone is wrong
inline constexpr int kExitBySignal = 128;                   // and the number of the signal, as shells count
inline constexpr int kExitInterrupted = kExitBySignal + 2;  // Control-C: SIGINT

}  // namespace lockstep
