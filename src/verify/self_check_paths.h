// One way through the model for self_check: runs it, hashes the logits, and knows which kernels it should have called.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/batch.h"
#include "model/kernel_sets.h"
#include "model/model.h"
#include "verify/self_check.h"

namespace lockstep::verify {

// What goes through the model: the same for every path. Past 128 positions attention has a second chunk to merge, past
// 512 a third pass of the largest cut.
struct CheckedTokens {
  static constexpr int64_t kQuick = 140;  // an expert of many gets too few of these for a panel
  static constexpr int64_t kFull = 530;
  // A prefix and something after it, also of a model that was trained for less.
  static constexpr int64_t kLeast = 2;
  // Last positions whose logits are hashed: as many as make the head take its panel.
  static constexpr int64_t kWanted = model::kMostStreamed + 4;
  static constexpr int64_t kOneByOne = 2;                     // last tokens of every path, as an answer is made
  static constexpr int64_t kNotReused = kWanted + kOneByOne;  // last tokens that a reused prefix does not have

  std::vector<int32_t> tokens;
  std::vector<int32_t> other_end;  // of the answer from before a reused prefix
  std::vector<std::vector<int32_t>> neighbours;

  static CheckedTokens make(const model::Config& config, bool full);

  [[nodiscard]] int64_t count() const { return static_cast<int64_t>(tokens.size()); }
  [[nodiscard]] int64_t n_reused() const { return std::max<int64_t>(1, count() - kNotReused); }
  [[nodiscard]] int64_t first_wanted() const { return std::max(n_reused(), count() - kWanted); }
};

// A cache that holds a prefix of the tokens, and who computed it.
struct KeptPrefix {
  std::unique_ptr<exec::KvCache> cache;
  std::string isa;
};

class PathRunner {
 public:
  // `model` has its kernels set to `counted`'s table.
  PathRunner(const model::Model& model, model::CountedTable& counted, const CheckedTokens& tokens)
      : model_(model), counted_(counted), tokens_(tokens) {}

  // A cold path leaves its cache in `kept`, a reused one takes it from there. Faults and errors of the path are noted
  // in the result.
  CheckedPath run(const PathShape& shape, KeptPrefix& kept);

 private:
  const model::Model& model_;
  model::CountedTable& counted_;
  const CheckedTokens& tokens_;
};

}  // namespace lockstep::verify
