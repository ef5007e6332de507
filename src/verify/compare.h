// Holds the tensors of a pass against those of a reference while the pass runs.
//
// Tensors are matched by (name, op, how-manieth occurrence), in order. Of each the sum and the values that the
// reference lists are compared, relative to the tensor's own size: a sum to max(|theirs|, rms * sqrt(n)), a value to
// rms, both of our tensor. Values of a printed log may also be off by half their last digit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/catching_observer.h"
#include "verify/reference.h"

namespace lockstep::verify {

// A tensor that was compared: where it is farthest from the reference.
struct Compared {
  std::string name;
  std::string op;
  int64_t layer;  // -1: of none
  double rel;
  std::string what;  // "sum", or "element 12"
  double ours;
  double theirs;
};

struct Unmatched {
  std::string name;
  std::string op;
  std::string why;  // "missing", "shape", "order", "extra", or what made it unreadable
  int64_t layer;
};

struct Report {
  double tolerance;
  int64_t n_required;              // named tensors of our pass
  std::vector<Compared> compared;  // in our pass's order
  std::vector<Unmatched> unmatched;
  std::vector<std::string> unknown;  // of the reference: names that no pass of ours makes; they decide nothing

  [[nodiscard]] const Compared* worst() const;            // null when nothing was compared
  [[nodiscard]] const Compared* first_divergent() const;  // null when nothing diverges
  // Everything required was compared, and nothing diverges.
  [[nodiscard]] bool passed() const;
};

class Comparison : public CatchingObserver {
 public:
  // The reference must outlive the comparison.
  Comparison(const Reference& reference, double tolerance);

  // After the last pass. Throws what failed.
  [[nodiscard]] Report finish();

 private:
  using Key = std::pair<std::string, std::string>;

  void look_at(const model::TensorView& tensor) override;
  void compare(const model::TensorView& tensor, const ReferenceEntry& entry);
  void take_out_of_order();
  void list_left_over();

  const Reference& reference_;
  std::map<Key, std::vector<size_t>> places_;  // in the reference, of each occurrence
  std::map<Key, size_t> n_seen_;
  std::vector<size_t> matched_;  // the reference's place of each compared tensor
  std::vector<bool> used_;
  Report report_;
};

}  // namespace lockstep::verify
