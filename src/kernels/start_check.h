// The self-test that runs when a model is loaded: the chosen kernels on a few of the model's own weights and on made-up
// values for everything else, held against the scalar definition bit for bit. What differs is replaced, so that a
// broken kernel costs speed and not a wrong word. A fraction of a millisecond for each type of weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "quant/tensor_type.h"

namespace lockstep::kernels {

// Some rows of a matrix, in the file's form; at most kSampleRows x kSampleCols are looked at.
struct WeightSample {
  quant::TensorType type;
  int64_t n_rows;
  int64_t n_cols;               // whole blocks
  std::vector<std::byte> rows;  // [n_rows], one after another
};
inline constexpr int64_t kSampleRows = 16;
inline constexpr int64_t kSampleCols = 256;

struct StartCheck {
  KernelTable table;  // the one that was checked, with replacements
  int checks = 0;
  uint64_t multiply_adds = 0;  // of the kernels and of the definition: what the check cost
  // "fast Q4_K differs from the definition on the model's own weights; scalar+fma is used for it instead"
  std::vector<std::string> faults;

  [[nodiscard]] bool ok() const { return faults.empty(); }
};

// Whose products are checked: those that a model will not call need no check when it is loaded.
struct CheckedModes {
  bool fast = true;
  bool exact = true;
};

[[nodiscard]] StartCheck start_check(const KernelTable& table, CacheType cache_type,
                                     std::span<const WeightSample> samples, CheckedModes modes = {});

}  // namespace lockstep::kernels
