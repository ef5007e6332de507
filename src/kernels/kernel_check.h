// A kernel set held against the scalar definition on a few samples of every operation, bit for bit: what `doctor` shows
// and what may run before a model is trusted to a machine. Some milliseconds. It finds a processor or build whose
// kernels are broken; the corners of each operation are for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "kernels/table.h"

namespace lockstep::kernels {

struct SelfTestResult {
  int checks = 0;
  std::vector<std::string> failures;  // what differed, as "fast Q4_K, 5 tokens"

  [[nodiscard]] bool ok() const { return failures.empty(); }
};

[[nodiscard]] SelfTestResult self_test(const KernelTable& table);

// The part of it that is no product, with one cache type and few positions: some hundred thousand operations.
[[nodiscard]] SelfTestResult operations_test(const KernelTable& table, CacheType cache_type);

}  // namespace lockstep::kernels
