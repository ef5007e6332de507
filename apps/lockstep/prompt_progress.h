// The progress of a prompt on its way through the model, as a line, and the moments at which an interrupt is heard.
#pragma once

#include "engine/session.h"
#include "interrupt.h"
#include "progress_line.h"

namespace lockstep {

// For Session::set_progress. `line` must outlive it.
[[nodiscard]] inline engine::Session::Progress prompt_progress(ProgressLine& line) {
  return [&line](int64_t done, int64_t total) {
    stop_if_interrupted();
    line.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  };
}

}  // namespace lockstep
