// A team of threads that runs one program together (SPMD): every member executes the same function with its own Member
// handle and meets the others at sync(). Nothing about a result may depend on who computed which unit.
//
// Members 1..n-1 are threads that live as long as the team; the caller of run() is member 0. run() is not reentrant:
// one program at a time. Programs must not throw; every member must reach every sync().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "exec/parking.h"

namespace lockstep::exec {

struct Range {
  int64_t begin, end;
};

class Team;

class Member {
 public:
  Member(Team& team, int index) noexcept : team_(team), index_(index) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] int count() const noexcept;

  // My share of n things, in whole units of `unit` (the last may be short). The shares of all members cover 0..n once.
  [[nodiscard]] Range range(int64_t n, int64_t unit = 1) const noexcept;

  // The next ticket 0, 1, 2, ... that no other member has drawn since the last sync().
  int64_t next() noexcept;

  // Waits for all members. What any of them wrote before is visible to all after.
  void sync() noexcept;

 private:
  Team& team_;
  int index_;
};

class Team {
 public:
  // n_members in 1..kMaxMembers; Error kBadRequest otherwise, kNoMemory when a thread cannot be started.
  explicit Team(int n_members);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  static constexpr int kMaxMembers = 512;

  [[nodiscard]] int size() const noexcept { return n_members_; }

  // Runs program(Member&) on every member and returns when all have finished.
  template <typename Program>
  void run(Program&& program) noexcept {
    run_erased(
        [](void* context, Member& me) noexcept { (*static_cast<std::remove_reference_t<Program>*>(context))(me); },
        &program);
  }

  // Meetings since the team was made, counted once for all members: what a program's phases cost.
  [[nodiscard]] uint64_t n_syncs() const noexcept { return n_syncs_.load(std::memory_order_relaxed); }

 private:
  friend class Member;
  using Program = void (*)(void* context, Member& me) noexcept;

  void run_erased(Program program, void* context) noexcept;
  void work(int index, int cpu) noexcept;
  void stop() noexcept;
  void meet() noexcept;
  void wait_while(const std::atomic<int>& value, int old) noexcept;

  const int n_members_;
  const int most_spins_;
  std::atomic<int> spins_;  // how long to wait awake: less after waits that were too long for it, more after others
  Program program_ = nullptr;
  void* context_ = nullptr;
  // Each on a cache line of its own: members hammer them at the same time.
  alignas(64) std::atomic<int> start_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> generation_{0};
  alignas(64) std::atomic<int64_t> ticket_{0};
  alignas(64) std::atomic<bool> stopping_{false};
  Parking parking_;
  std::atomic<uint64_t> n_syncs_{0};
  std::vector<std::thread> threads_;
};

}  // namespace lockstep::exec
