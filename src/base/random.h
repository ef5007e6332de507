// The random numbers of lockstep: a counter-based generator, so that the number of a step depends on the seed and the
// step alone, never on what was drawn before, by whom, or on which machine. Source: Salmon, Moraes, Dror, Shaw,
// "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), Philox 4x32 with 10 rounds. Pure functions, safe from any
// thread.
#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// The block of four random words that belongs to this counter under this key.
[[nodiscard]] PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) noexcept;

// Different decisions of one step take their numbers from different streams (word 2 of the counter).
enum class RandomStream : uint32_t {
  kToken = 0,  // which token is drawn
  kXtc = 1,    // whether the XTC stage acts
};

// A uniform number of [0, 1) with 53 random bits: key = seed (low, high word), counter = (step low, step high, stream,
// 0), u = ((x0 << 32 | x1) >> 11) * 2^-53. Every 64-bit seed is taken as it is.
[[nodiscard]] double uniform_draw(uint64_t seed, uint64_t step, RandomStream stream = RandomStream::kToken) noexcept;

}  // namespace lockstep
