// The options of `bench`: lists of sizes, held against what a model can take.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "model_options.h"

namespace lockstep {

enum class ReportFormat { kMarkdown, kCsv, kJson };

// As typed.
struct BenchFlags {
  ModelOptions model;
  std::string prompt_sizes = "512";
  std::string decode_sizes = "128";
  std::string depths = "0";
  std::string batches = "1";
  std::string runs = "5";
  std::string format = "md";
  bool json = false;
};

void add_bench_flags(CLI::App& command, BenchFlags& flags);

struct BenchPlan {
  std::vector<int64_t> prompt_sizes;  // without 0, which leaves the test out
  std::vector<int64_t> decode_sizes;
  std::vector<int64_t> depths;  // ascending
  std::vector<int64_t> batches;
  std::vector<int64_t> threads;
  int runs;
  ReportFormat format;

  [[nodiscard]] int64_t largest_batch() const;
};

// Error kUsage for what no model could take.
[[nodiscard]] BenchPlan bench_plan(const BenchFlags& flags);

// Error kBadRequest for a test that does not fit the context, or a batch that does not fit a forward pass.
void check_fits(const BenchPlan& plan, int64_t ctx_size, int64_t most_sequences);

}  // namespace lockstep
