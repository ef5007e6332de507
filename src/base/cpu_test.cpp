#include "base/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace lockstep {
namespace {

TEST(UsableCpus, IsAtLeastOneAndAtMostWhatTheMachineHas) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

#if defined(__linux__)
TEST(UsableCpus, FollowsTheAffinityMask) {
  cpu_set_t old;
  ASSERT_EQ(::sched_getaffinity(0, sizeof old, &old), 0);
  int first = 0;
  while (!CPU_ISSET(first, &old)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cpus(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof old, &old), 0);
}
#endif

TEST(CpuFeatures, AreConsistentAndNamed) {
  const CpuFeatures f = cpu_features();
  if (f.avx512_vnni) {
    EXPECT_TRUE(f.fma);
  }
  if (f.avx_vnni) {
    EXPECT_TRUE(f.fma);
  }
  const std::vector<std::string> names = feature_names(f);
  EXPECT_EQ(std::ranges::count(names, "fma"), f.fma ? 1 : 0);
  EXPECT_EQ(std::ranges::count(names, "avx512_vnni"), f.avx512_vnni ? 1 : 0);
#if !defined(__x86_64__)
  EXPECT_FALSE(f.fma);
#endif
}

}  // namespace
}  // namespace lockstep
