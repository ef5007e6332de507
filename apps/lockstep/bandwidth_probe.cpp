#include "bandwidth_probe.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "team_timer.h"

namespace lockstep {

// Pages that were never written are all one page of zeros, which a cache holds.
BandwidthProbe::BandwidthProbe() : region_(kBytes, "the bandwidth probe"), read_loops_(widest_read_loops()) {
  std::memset(region_.data(), 1, region_.size());
}

double BandwidthProbe::measure(exec::Team& team, int passes) const {
  std::atomic<uint64_t> seen = 0;
  double best = 0;
  for (int pass = 0; pass < 2 * passes; ++pass) {
    const ReadLoop read = read_loops_[static_cast<size_t>(pass % 2)];
    const double seconds = timed_run(team, [&](exec::Member& me) {
      const exec::Range mine = me.range(static_cast<int64_t>(kBytes), kReadStep);
      seen.fetch_or(read(region_.data() + mine.begin, static_cast<uint64_t>(mine.end - mine.begin)),
                    std::memory_order_relaxed);
    });
    best = std::max(best, static_cast<double>(kBytes) / seconds * 1e-9);
  }
  return best;
}

}  // namespace lockstep
