#include "base/random.h"

namespace lockstep {
namespace {

// The multipliers and key increments of the paper (table 2 and section 3.3; the increments are the golden ratio and
// sqrt(3) - 1).
constexpr uint64_t kMultiplier0 = 0xD2511F53u;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u;
constexpr uint32_t kWeyl1 = 0xBB67AE85u;
constexpr int kRounds = 10;

constexpr uint32_t high_word(uint64_t x) {
  return static_cast<uint32_t>(x >> 32);
}
constexpr uint32_t low_word(uint64_t x) {
  return static_cast<uint32_t>(x);
}

}  // namespace

PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) noexcept {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {high_word(product1) ^ counter[1] ^ key[0], low_word(product1), high_word(product0) ^ counter[3] ^ key[1],
               low_word(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

double uniform_draw(uint64_t seed, uint64_t step, RandomStream stream) noexcept {
  const PhiloxCounter block = philox4x32({low_word(step), high_word(step), static_cast<uint32_t>(stream), 0},
                                         {low_word(seed), high_word(seed)});
  const uint64_t bits = (uint64_t{block[0]} << 32) | block[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace lockstep
