#include "exec/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/cpu.h"
#include "base/error.h"

namespace lockstep::exec {
namespace {

TEST(Team, RunsEveryMemberOnceWithItsIndex) {
  for (int n = 1; n <= 9; ++n) {
    Team team(n);
    EXPECT_EQ(team.size(), n);
    for (int repetition = 0; repetition < 20; ++repetition) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(n));
      team.run([&](Member& me) {
        EXPECT_EQ(me.count(), n);
        ++runs[static_cast<size_t>(me.index())];
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1) << n;
    }
  }
}

TEST(Team, RunsMemberZeroOnTheCallingThreadAndTheOthersOnTheirOwn) {
  Team team(4);
  std::vector<std::thread::id> ids(4);
  team.run([&](Member& me) { ids[static_cast<size_t>(me.index())] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 4u);
  const std::vector<std::thread::id> before = ids;
  team.run([&](Member& me) { ids[static_cast<size_t>(me.index())] = std::this_thread::get_id(); });
  EXPECT_EQ(ids, before) << "threads live as long as the team";
}

TEST(Team, SharesOutEveryRangeOnceInWholeUnits) {
  for (int n_members = 1; n_members <= 9; ++n_members) {
    Team team(n_members);
    for (const int64_t unit : {1, 2, 7, 16, 64}) {
      for (const int64_t n : {0, 1, 2, 3, 8, 15, 16, 17, 31, 100, 576, 1000}) {
        std::vector<Range> shares(static_cast<size_t>(n_members));
        team.run([&](Member& me) { shares[static_cast<size_t>(me.index())] = me.range(n, unit); });
        int64_t next = 0;
        for (const Range& share : shares) {
          EXPECT_EQ(share.begin, next) << n << " by " << unit << " for " << n_members;
          EXPECT_LE(share.begin, share.end);
          EXPECT_TRUE(share.begin % unit == 0 || share.begin == n);
          EXPECT_LE(share.end - share.begin, (n / unit / n_members + 2) * unit) << "even shares";
          next = share.end;
        }
        EXPECT_EQ(next, n);
      }
    }
  }
}

TEST(Team, SharesOutRangesThatAreLargerThan32Bits) {
  Team team(3);
  std::vector<Range> shares(3);
  const int64_t n = int64_t{1} << 40;
  team.run([&](Member& me) { shares[static_cast<size_t>(me.index())] = me.range(n, 16); });
  EXPECT_EQ(shares[0].begin, 0);
  EXPECT_EQ(shares[1].begin, shares[0].end);
  EXPECT_EQ(shares[2].end, n);
}

TEST(Team, HandsOutEveryTicketOnceAndBeginsAnewAfterEveryMeeting) {
  constexpr int64_t kTickets = 500;
  for (const int n_members : {1, 2, 3, 5}) {
    Team team(n_members);
    for (int repetition = 0; repetition < 5; ++repetition) {
      std::vector<std::atomic<int>> taken(2 * kTickets);
      team.run([&](Member& me) {
        for (int64_t t = me.next(); t < kTickets; t = me.next()) ++taken[static_cast<size_t>(t)];
        me.sync();
        for (int64_t t = me.next(); t < kTickets; t = me.next()) ++taken[static_cast<size_t>(kTickets + t)];
      });
      for (const auto& count : taken) ASSERT_EQ(count.load(), 1) << n_members;
    }
  }
}

// Each round every member writes its cell from what its neighbour wrote in the round before: one early reader spoils
// the sum.
int64_t relay(Team& team, int rounds) {
  const auto n = static_cast<size_t>(team.size());
  std::vector<int64_t> cells(n);
  std::vector<int64_t> next(n);
  for (size_t i = 0; i < n; ++i) cells[i] = static_cast<int64_t>(i);
  team.run([&](Member& me) {
    const auto i = static_cast<size_t>(me.index());
    for (int round = 0; round < rounds; ++round) {
      next[i] = cells[(i + 1) % n] + 1;
      me.sync();
      cells[i] = next[i];
      me.sync();
    }
  });
  int64_t sum = 0;
  for (const int64_t cell : cells) sum += cell;
  return sum;
}

int64_t relay_sum(int64_t n, int64_t rounds) {
  return n * (n - 1) / 2 + n * rounds;
}

TEST(Team, ShowsEveryoneWhatWasWrittenBeforeAMeeting) {
  for (int n = 1; n <= 4; ++n) {
    Team team(n);
    EXPECT_EQ(relay(team, 5000), relay_sum(n, 5000)) << n;
  }
}

TEST(Team, WorksWithMoreMembersThanProcessors) {
  const int n = 4 * usable_cpus() + 3;
  Team team(n);
  EXPECT_EQ(relay(team, 50), relay_sum(n, 50));
}

TEST(Team, WorksBesideAnotherTeam) {
  Team first(3);
  Team second(2);
  int64_t sum_of_second = 0;
  std::thread other([&] { sum_of_second = relay(second, 2000); });
  EXPECT_EQ(relay(first, 2000), relay_sum(3, 2000));
  other.join();
  EXPECT_EQ(sum_of_second, relay_sum(2, 2000));
}

TEST(Team, CountsItsMeetingsOnceForAllMembersWithTheOneThatEndsAProgram) {
  for (const int n : {1, 2, 4}) {
    Team team(n);
    const uint64_t before = team.n_syncs();
    team.run([](Member& me) {
      for (int i = 0; i < 7; ++i) me.sync();
    });
    EXPECT_EQ(team.n_syncs() - before, 8u) << n;
  }
}

TEST(Team, MayWaitLongBetweenPrograms) {
  Team team(3);
  EXPECT_EQ(relay(team, 10), relay_sum(3, 10));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // long past spinning: the members sleep
  EXPECT_EQ(relay(team, 10), relay_sum(3, 10));
}

TEST(Team, IsMadeAndTakenDownManyTimes) {
  for (int i = 0; i < 100; ++i) {
    Team team(1 + i % 4);
    if (i % 3 != 0) {
      EXPECT_EQ(relay(team, 2), relay_sum(team.size(), 2));
    }
  }
}

TEST(Team, RefusesNoMembersAndTooMany) {
  for (const int n : {0, -1, Team::kMaxMembers + 1}) {
    try {
      Team team(n);
      ADD_FAILURE() << n << " taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
      EXPECT_EQ(std::string(error.what()), fmt::format("threads {}: expected 1 to 512", n));
    }
  }
}

}  // namespace
}  // namespace lockstep::exec
