// The bit contract proved on the user's machine with the user's model (NUMERICS.md section 6): the same tokens go
// through the model with every kernel set that this CPU can run, by several numbers of threads, cut in several ways,
// alone and beside other sequences, with a fresh cache and a reused prefix. The logits of the last positions must be
// the same bits, and every kernel that a path should have used must have been called.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/kernel_sets.h"
#include "model/model.h"

namespace lockstep::verify {

struct SelfCheckProgress {
  size_t n_done, n_paths;
  std::string isa;
};

struct SelfCheckOptions {
  bool full = false;
  model::Compute compute = model::Compute::kFast;
  model::CacheType cache_type = model::CacheType::kF16;
  std::vector<const model::KernelTable*> tables;  // empty: every set that this CPU can run
  // Before each path, and while the model is read; may throw to give up.
  std::function<void(const SelfCheckProgress&)> progress;
};

// One way through the model.
struct PathShape {
  int threads;
  int64_t chunk;       // tokens of the prompt in one pass; its last two go one by one
  int64_t neighbours;  // other sequences in the same passes
  bool reused;         // all but the end of the prompt is in the cache, from before another answer
};

struct CheckedPath {
  std::string isa;
  PathShape shape;
  // Whose prefix is reused: "cold" for nobody's, "reused" for this set's own, "reused from scalar+fma" for another's
  // (of the scalar sets, which are slow, one computes the whole prompt).
  std::string prefix;
  std::map<std::string, uint64_t> calls;  // by kernel
  std::string hash;                       // of the logits
  std::string fault;                      // why the path counts as failed, whatever its hash; empty: it does not
};

struct SelfCheckResult {
  bool equal = false;
  std::string hash;  // of the last path: the plainest set there is
  std::vector<CheckedPath> paths;
};

// Loads the file once for each layout of weights that the sets want. Errors: those of loading, and what `progress`
// throws; a path that ends in an error of its own is a fault of that path. One self-check at a time.
[[nodiscard]] SelfCheckResult self_check(const std::string& path, const SelfCheckOptions& options);

// The paths of one set; `first_of_layout`: the first that reads weights in its layout.
[[nodiscard]] std::vector<PathShape> path_shapes(const model::KernelTable& table, bool first_of_layout, bool full,
                                                 int64_t n_tokens);

}  // namespace lockstep::verify
