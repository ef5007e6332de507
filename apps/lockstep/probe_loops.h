// The innermost loops of the machine's measurement: reading memory as wide as this CPU can, and operations on registers
// alone. Each is written for an instruction set by itself and chosen at run time, so that the program still runs on
// every CPU. No state; safe from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

inline constexpr uint64_t kReadStep = 512;

// Reads `bytes` (a multiple of kReadStep) from `data` (64-byte aligned) once and returns the bitwise or of all of it,
// so that no compiler may leave a load out.
using ReadLoop = uint64_t (*)(const std::byte* data, uint64_t bytes) noexcept;

// With the widest loads that this CPU has: plain ones, and with a prefetch per line. Which is faster differs from one
// processor to the next.
[[nodiscard]] std::array<ReadLoop, 2> widest_read_loops();

// A loop that keeps one kind of arithmetic unit busy; nothing in it waits for memory or for its own results.
struct RateLoop {
  const char* isa;         // as kernel sets are named, where there is such a set
  double macs_per_round;   // multiply-adds in one round
  uint64_t rounds_a_turn;  // rounds that take a fraction of a millisecond
  void (*run)(uint64_t rounds) noexcept;
};

// Of 8-bit integers into 32-bit sums, and of fp32 (fused, except "scalar"). From scalar to the best of this CPU.
[[nodiscard]] std::vector<RateLoop> int8_loops();
[[nodiscard]] std::vector<RateLoop> fp32_loops();

// Additions that wait for one another: one each cycle on every CPU that we know of, so their rate is the clock.
inline constexpr uint64_t kChainAdds = 8;
void run_add_chain(uint64_t rounds) noexcept;

}  // namespace lockstep
