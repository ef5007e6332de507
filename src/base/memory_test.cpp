#include "base/memory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMegabyte = 1 << 20;

// A system of its own: files below a folder.
class System {
 public:
  System() : root_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    set("proc/meminfo", "MemTotal:       8388608 kB\nMemFree:         100 kB\nMemAvailable:    1048576 kB\n");
  }
  System& set(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
    return *this;
  }
  System& group(const fs::path& folder, const std::string& limit, uint64_t used, uint64_t cached) {
    set(folder / "memory.max", limit + "\n").set(folder / "memory.current", std::to_string(used) + "\n");
    return set(folder / "memory.stat",
               "anon 5\ninactive_file " + std::to_string(cached) + "\nworkingset 7\nactive_file 0\n");
  }
  void expect(uint64_t megabytes, const std::string& of) const {
    const auto room = memory_room(root_);
    ASSERT_TRUE(room.has_value());
    EXPECT_EQ(room->bytes, megabytes * kMegabyte);
    EXPECT_EQ(room->of, of);
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

TEST(MemoryRoom, IsWhatTheMachineHasAvailableWithItsSwap) {
  System system;
  system.expect(1024, "this machine");
  system.set("proc/meminfo", "MemAvailable:    1048576 kB\nSwapTotal: 4096 kB\nSwapFree:  2048 kB\n");
  system.expect(1026, "this machine");
}

TEST(MemoryRoom, IsUnknownWhereTheSystemDoesNotSay) {
  EXPECT_FALSE(memory_room(fs::path(testing::TempDir()) / "no such system").has_value());
}

TEST(MemoryRoom, IsWhatTheControlGroupLeavesWherePagesOfFilesCountAsFree) {
  System system;
  system.set("proc/self/cgroup", "0::/jobs/mine\n").group("sys/fs/cgroup/jobs/mine", "max", 0, 0);
  system.expect(1024, "this machine");
  system.group("sys/fs/cgroup/jobs/mine", std::to_string(100 * kMegabyte), 70 * kMegabyte, 10 * kMegabyte);
  system.expect(40, "the control group /jobs/mine");
  system.group("sys/fs/cgroup/jobs", std::to_string(50 * kMegabyte), 40 * kMegabyte, 10 * kMegabyte);
  system.expect(20, "the control group /jobs");
  system.group("sys/fs/cgroup/jobs", std::to_string(50 * kMegabyte), 90 * kMegabyte, 0);
  system.expect(0, "the control group /jobs");
}

TEST(MemoryRoom, CountsTheSwapThatAControlGroupMayUse) {
  System system;
  system.set("proc/meminfo", "MemAvailable:    1048576 kB\nSwapFree:  20480 kB\n");
  system.set("proc/self/cgroup", "0::/\n").group("sys/fs/cgroup", std::to_string(100 * kMegabyte), 0, 0);
  system.expect(120, "the control group /");
  system.set("sys/fs/cgroup/memory.swap.max", std::to_string(5 * kMegabyte));
  system.expect(105, "the control group /");
}

TEST(MemoryRoom, FindsTheGroupOfAContainerThatSeesItsOwnAsTheRoot) {
  System system;
  system.set("proc/self/cgroup", "0::/outside/of/here\n");
  system.group("sys/fs/cgroup", std::to_string(30 * kMegabyte), kMegabyte, 0).expect(29, "the control group /");
}

TEST(MemoryRoom, KnowsControlGroupsOfVersion1) {
  System system;
  system.set("proc/self/cgroup", "5:devices:/x\n4:cpu,memory:/mine\n1:name=memory:/x\n0::/\nnonsense\n");
  const fs::path folder = "sys/fs/cgroup/memory/mine";
  system.set(folder / "memory.limit_in_bytes", std::to_string(64 * kMegabyte));
  system.set(folder / "memory.usage_in_bytes", std::to_string(60 * kMegabyte));
  system.set(folder / "memory.stat", "total_inactive_file 1048576\ntotal_active_file 2097152\n");
  system.expect(7, "the control group /mine");
  // No limit: the largest multiple of a page.
  system.set(folder / "memory.limit_in_bytes", "9223372036854771712");
  system.expect(1024, "this machine");
}

#if defined(__linux__)
TEST(MemoryRoom, OfThisMachineIsKnown) {
  ASSERT_TRUE(memory_room().has_value());
  EXPECT_GT(memory_room()->bytes, 0u);
}
#endif

}  // namespace
}  // namespace lockstep
