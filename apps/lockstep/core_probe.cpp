#include "core_probe.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "probe_loops.h"
#include "team_timer.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTurns = 5;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Rates measure(exec::Team& team, const std::vector<RateLoop>& loops) {
  Rates rates;
  for (const RateLoop& loop : loops) {
    double best = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      const double seconds = timed_run(team, [&](exec::Member&) { loop.run(loop.rounds_a_turn); });
      const double rounds = static_cast<double>(loop.rounds_a_turn) * team.size();
      best = std::max(best, rounds * loop.macs_per_round / seconds * 1e-9);
    }
    rates.emplace_back(loop.isa, best);
  }
  return rates;
}

}  // namespace

double clock_ghz(exec::Team& team) {
  constexpr uint64_t kRounds = 500'000;  // a millisecond at 4 GHz
  std::vector<double> best(static_cast<size_t>(team.size()), 0.0);
  team.run([&](exec::Member& me) {
    double& mine = best[static_cast<size_t>(me.index())];
    for (int turn = 0; turn < kTurns; ++turn) {
      me.sync();
      const Clock::time_point begin = Clock::now();
      run_add_chain(kRounds);
      mine = std::max(mine, static_cast<double>(kRounds * kChainAdds) / seconds_since(begin) * 1e-9);
    }
  });
  return std::accumulate(best.begin(), best.end(), 0.0) / static_cast<double>(best.size());
}

Rates int8_rates(exec::Team& team) {
  return measure(team, int8_loops());
}
Rates fp32_rates(exec::Team& team) {
  return measure(team, fp32_loops());
}

}  // namespace lockstep
