#include "kernels/counted_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "base/error.h"
#include "kernels/kernel_check.h"
#include "kernels/select.h"

namespace lockstep::kernels {
namespace {

TEST(CountedTable, ComputesWhatTheRealOneComputesAndCountsEveryEntry) {
  for (const KernelTable* real : available_tables()) {
    CountedTable counted(*real);
    EXPECT_STREQ(counted.table().isa, real->isa);
    EXPECT_EQ(counted.table().packed, real->packed);
    const SelfTestResult result = self_test(counted.table());
    EXPECT_TRUE(result.ok()) << real->isa;
    const auto calls = counted.take();
    for (const char* name : {"quantize", "rms_norm", "swiglu", "geglu", "softcap", "add", "rope", "merge_chunk",
                             "finish_attention", "append_k f16", "append_v q8_0", "attend_chunk f32"})
      EXPECT_GT(calls.count(name), 0u) << real->isa << " " << name;
    EXPECT_EQ(calls.at("rope"), 2u);
    EXPECT_EQ(calls.at("attend_chunk f16"), 2u);
    EXPECT_EQ(calls.at(real->packed ? "fast Q4_K stream" : "fast Q4_K"), real->packed ? 1u : 2u);
    EXPECT_EQ(calls.count("fast Q4_K panel"), real->packed ? 1u : 0u);
    EXPECT_EQ(calls.count("exact Q4_K stream"), 0u);
    EXPECT_EQ(calls.at(real->packed ? "fast F16 panel" : "fast F16"), real->packed ? 1u : 2u);
    EXPECT_TRUE(counted.take().empty()) << "taken";
  }
}

// A table is pointers without gaps from its first product on; one that is not counted would be the real one's.
TEST(CountedTable, WrapsEveryEntryThatThereIs) {
  for (const KernelTable* real : available_tables()) {
    const CountedTable counted(*real);
    constexpr size_t kPointers = (sizeof(KernelTable) - offsetof(KernelTable, fast)) / sizeof(void*);
    const void* ours[kPointers];
    const void* theirs[kPointers];
    std::memcpy(ours, static_cast<const void*>(&counted.table().fast), sizeof(ours));
    std::memcpy(theirs, static_cast<const void*>(&real->fast), sizeof(theirs));
    for (size_t i = 0; i < kPointers; ++i) {
      EXPECT_EQ(ours[i] == nullptr, theirs[i] == nullptr) << real->isa << " entry " << i;
      EXPECT_TRUE(theirs[i] == nullptr || ours[i] != theirs[i]) << real->isa << " entry " << i;
    }
  }
}

TEST(CountedTable, ExistsOnceAtATime) {
  std::optional<CountedTable> first(*available_tables().front());
  EXPECT_THROW(CountedTable{*available_tables().front()}, Error);
  first.reset();
  EXPECT_NO_THROW(CountedTable{*available_tables().front()});
}

}  // namespace
}  // namespace lockstep::kernels
