// Whoever wants to see the named tensors of a forward pass: traces, comparisons, tests. Without an observer (the rule)
// a pass pays one pointer test for each place that could be seen. With one, phases that are fused otherwise run as
// their parts, one after the other, with the same bits (NUMERICS.md defines them by their parts).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "exec/team.h"
#include "model/site.h"

namespace lockstep::model {

struct Step;

struct TensorView {
  std::string name;  // with the layer: "Qcur-0"
  std::string_view op;
  int64_t layer;              // -1: of none
  std::array<int64_t, 4> ne;  // as GGUF counts, the contiguous dimension first
  const float* data;          // rows of `width` elements
  int64_t width;              // ne[0], or ne[0] * ne[1] of heads
  int64_t row_stride;

  [[nodiscard]] int64_t n_elements() const noexcept { return ne[0] * ne[1] * ne[2] * ne[3]; }
  // Element i as memory order counts them.
  [[nodiscard]] float at(int64_t i) const noexcept { return data[i / width * row_stride + i % width]; }
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Called by one member of the team while the others wait; the view ends with the call.
  virtual void see(const TensorView& tensor) noexcept = 0;
};

// A tensor that all members have finished or are about to finish, rows [step.n_rows * per_token, width].
struct Shown {
  Site site;
  int64_t layer;  // n_layers: of none
  const float* data;
  int64_t width;
  int64_t row_stride;
  std::string_view op = {};  // when it is not the site's own
  int64_t head_dim = 0;      // a row is heads of this size
  int64_t per_token = 1;     // rows that each token has
};

// Meets, shows the tensor, meets. For passes with an observer only.
void show_now(const Step& step, const Shown& shown, exec::Member& me) noexcept;

}  // namespace lockstep::model
