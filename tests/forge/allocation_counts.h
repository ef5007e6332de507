// For tests only: what the operators new and delete of counting_allocator.h count, and which allocation they let fail.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockstep::forge {

struct AllocationCounts {
  std::atomic<int64_t> made{0};
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> until_failure{0};  // the allocation that takes this to 0 fails; at 0 none does
  std::atomic<bool> fail_all_after{false};
};
inline AllocationCounts allocation_counts;

}  // namespace lockstep::forge
