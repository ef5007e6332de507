#include "core_probe.h"

#include <gtest/gtest.h>

#include "bandwidth_probe.h"
#include "interference.h"
#include "probe_loops.h"

namespace lockstep {
namespace {

// Units are what is tested here, on machines that may be busy: each figure within what any processor could do.
TEST(CoreProbe, GivesClockAndRatesInTheirUnits) {
  exec::Team team(2);
  const double clock = clock_ghz(team);
  EXPECT_GT(clock, 0.05);
  EXPECT_LT(clock, 10.0);
  for (const Rates& rates : {int8_rates(team), fp32_rates(team)}) {
    ASSERT_FALSE(rates.empty());
    EXPECT_EQ(rates.front().first, "scalar");
    for (const auto& [isa, rate] : rates) {
      EXPECT_GT(rate, 0.05) << isa;
      EXPECT_LT(rate, 10.0 * 2 * 1024) << isa;
    }
  }
}

TEST(ReadLoops, SeeEveryByte) {
  Buffer memory(uint64_t{8} * kReadStep, "a test");
  for (const ReadLoop read : widest_read_loops()) {
    EXPECT_EQ(read(memory.data(), memory.size()), 0u);
    for (uint64_t at = 0; at < memory.size(); ++at) {
      memory.data()[at] = std::byte{1};
      EXPECT_NE(read(memory.data(), memory.size()), 0u) << at;
      memory.data()[at] = std::byte{0};
    }
    memory.data()[2 * kReadStep] = std::byte{1};
    EXPECT_EQ(read(memory.data(), 2 * kReadStep), 0u);
    memory.data()[2 * kReadStep] = std::byte{0};
  }
}

TEST(BandwidthProbe, GivesGigabytesASecond) {
  BandwidthProbe probe;
  EXPECT_GE(probe.memory().size(), uint64_t{400'000'000});
  exec::Team team(1);
  const double gbps = probe.measure(team, 1);
  EXPECT_GT(gbps, 0.05);
  EXPECT_LT(gbps, 5000.0);
}

TEST(BusySeconds, AddsAllButIdleAndWaiting) {
  EXPECT_EQ(busy_seconds("cpu  100 20 30 4000 500 6 7 80 9 10\n", 100), 2.43);
  EXPECT_EQ(busy_seconds("cpu0 1 2 3 4 5 6 7 8", 100), std::nullopt);
  EXPECT_EQ(busy_seconds("cpu 1 2 3", 100), std::nullopt);
  EXPECT_EQ(busy_seconds("", 100), std::nullopt);
}

TEST(InterferenceGuard, DoesNotCountTheProgramItself) {
  const InterferenceGuard guard;
  exec::Team team(1);
  EXPECT_GT(clock_ghz(team), 0);
  EXPECT_GE(guard.foreign_cpus(), 0.0);
}

}  // namespace
}  // namespace lockstep
