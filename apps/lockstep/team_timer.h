// The time that a team takes for a program, without that of waking its threads.
#pragma once

#include <chrono>

#include "exec/team.h"

namespace lockstep {

// Seconds from the moment when all members are there to the moment when all are done with work(member).
template <typename Work>
double timed_run(exec::Team& team, const Work& work) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;
  Clock::time_point end;
  team.run([&](exec::Member& me) {
    me.sync();
    if (me.index() == 0) begin = Clock::now();
    work(me);
    me.sync();
    if (me.index() == 0) end = Clock::now();
  });
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace lockstep
