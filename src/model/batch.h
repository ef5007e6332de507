// The tokens that travel through one forward pass together, possibly of several sequences.
#pragma once

#include <cstdint>
#include <span>

#include "exec/kv_cache.h"

namespace lockstep::model {

struct BatchRow {
  int32_t token;
  int64_t position;      // absolute; the rows of one sequence ascend without gaps from its cache's length
  exec::KvCache* cache;  // of the row's sequence, with room for the position
  bool wants_logits;
};

using Batch = std::span<const BatchRow>;

}  // namespace lockstep::model
