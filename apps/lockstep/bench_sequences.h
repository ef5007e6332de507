// Sequences of random tokens that `bench` lets a model compute: prefill and decode without tokenizing or sampling. Used
// by one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "bench_work.h"
#include "engine/engine.h"
#include "exec/kv_cache.h"

namespace lockstep {

class BenchSequences {
 public:
  BenchSequences(engine::Engine& engine, int64_t n_sequences);

  struct Measured {
    double seconds;
    int64_t tokens;  // of all sequences together
    double bytes;
    double macs;
  };

  // Brings every sequence to `depth` positions; what an earlier, smaller depth has filled stays. Depths ascend.
  void fill(int64_t depth);

  // n random tokens after the depth, in forward passes of at most the engine's batch size; the last token's logits are
  // wanted.
  Measured prefill(int64_t n);

  // n steps after the depth, each one forward pass with the next token of each of the first n_sequences sequences.
  Measured decode(int64_t n, int64_t n_sequences);

 private:
  int32_t next_token();
  void extend(exec::KvCache& cache, int64_t n, bool wants_logits);
  void forward();
  [[nodiscard]] double cache_bytes_read(int64_t positions) const;

  engine::Engine& engine_;
  std::vector<exec::KvCache> caches_;
  std::vector<model::BatchRow> rows_;
  int64_t depth_ = 0;
  uint32_t n_drawn_ = 0;
  // Since the last clear, by the passes made.
  PassWork work_;
};

}  // namespace lockstep
