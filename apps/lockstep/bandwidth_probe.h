// How fast a team of threads can read memory: the limit that decoding is held against. `bench` and `roofline` use this
// same function.
#pragma once

#include <array>
#include <span>

#include "base/buffer.h"
#include "exec/team.h"
#include "probe_loops.h"

namespace lockstep {

// A region larger than any cache, in 2 MiB pages where the system gives them, every page of it written once. One thread
// at a time.
class BandwidthProbe {
 public:
  static constexpr uint64_t kBytes = uint64_t{400} << 20;
  static constexpr int kPasses = 5;

  // Error kNoMemory.
  BandwidthProbe();

  // Bytes per second over 1e9, all members together, each reading its share of the region in one stream; the best of
  // `passes` with plain loads and as many with prefetch.
  [[nodiscard]] double measure(exec::Team& team, int passes = kPasses) const;

  // The region, for whoever wants to read something else from it in the same way. What is written there stays varied
  // enough for the probe: it looks at no values.
  [[nodiscard]] std::span<std::byte> memory() noexcept { return region_.bytes(); }

 private:
  Buffer region_;
  std::array<ReadLoop, 2> read_loops_;
};

}  // namespace lockstep
