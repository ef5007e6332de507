#include "doctor_machine.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lockstep {
namespace {

TEST(DoctorMachine, FindsTheNameOfTheFirstProcessor) {
  EXPECT_EQ(cpu_name("processor\t: 0\nmodel\t\t: 17\nmodel name\t: A CPU at 3 GHz\n\nmodel name\t: B\n"),
            "A CPU at 3 GHz");
  EXPECT_EQ(cpu_name("Hardware : x"), "unknown");
  EXPECT_EQ(cpu_name(""), "unknown");
}

TEST(DoctorMachine, CountsListsOfCpus) {
  EXPECT_EQ(count_cpu_list("0\n"), 1);
  EXPECT_EQ(count_cpu_list("0-3,8,10-11\n"), 7);
  EXPECT_EQ(count_cpu_list(""), 0);
  EXPECT_EQ(count_cpu_list("3-1"), 0);
  EXPECT_EQ(count_cpu_list("all"), 0);
}

TEST(DoctorMachine, FindsTheChosenWord) {
  EXPECT_EQ(chosen_word("always [madvise] never\n"), "madvise");
  EXPECT_EQ(chosen_word("always madvise never"), "");
  EXPECT_EQ(chosen_word("]["), "");
}

TEST(DoctorMachine, FindsHugePagesOfTheMappingThatHoldsAnAddress) {
  const std::string smaps =
      "1000-3000 rw-p 00000000 00:00 0 \nSize:  8 kB\nAnonHugePages:         0 kB\nVmFlags: rd\n"
      "7f0000-8f0000 rw-p 00000000 00:00 0 \nSize:  1024 kB\nAnonHugePages:   2048 kB\nVmFlags: rd\n";
  EXPECT_EQ(huge_page_bytes(smaps, 0x7f0000), 2048u * 1024);
  EXPECT_EQ(huge_page_bytes(smaps, 0x8effff), 2048u * 1024);
  EXPECT_EQ(huge_page_bytes(smaps, 0x2000), 0u);
  EXPECT_EQ(huge_page_bytes(smaps, 0x8f0000), std::nullopt);
}

TEST(DoctorMachine, PlansAtLeastOneThreadAndSaysWhy) {
  const ThreadPlan plan = thread_plan();
  EXPECT_GE(plan.decode, 1);
  EXPECT_GE(plan.prefill, 1);
  EXPECT_NE(plan.why.find("affinity mask"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
