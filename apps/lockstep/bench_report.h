// The entries of `bench` as a table for people, CSV or JSON. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bench_statistics.h"
#include "json_text.h"

namespace lockstep {

enum class BenchTest { kPrefill, kDecode };

struct BenchEntry {
  BenchTest test;
  int64_t n;
  int64_t depth;
  int64_t batch;
  int threads;
  std::string isa;
  std::string kv_type;
  Figures figures;
  int runs;       // that the figures are of
  int discarded;  // measured besides, unsteady
  bool steady;
};

// "pp512", "tg32@d4096", "tg128@b4", "tg128@d512@b4".
[[nodiscard]] std::string test_name(const BenchEntry& entry);

[[nodiscard]] Json bench_json(std::span<const BenchEntry> entries);
[[nodiscard]] std::string bench_csv(std::span<const BenchEntry> entries);
[[nodiscard]] std::string bench_markdown(std::span<const BenchEntry> entries);

}  // namespace lockstep
