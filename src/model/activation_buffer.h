// Room for rows of activations in the forms that products read.
#pragma once

#include <cstdint>
#include <span>

#include "base/checked.h"
#include "exec/arena.h"
#include "kernels/table.h"

namespace lockstep::model {

struct ActivationBuffer {
  std::span<float> x;
  std::span<int8_t> q;
  std::span<float> scale;
  std::span<int32_t> sum;

  // Elements from one row of `width` elements to the next: whole vectors.
  [[nodiscard]] static int64_t padded(int64_t width) noexcept { return round_up(width, int64_t{64}); }

  // Room for n_rows rows of up to `width` elements, or more rows that are shorter.
  static ActivationBuffer take(exec::Arena& arena, int64_t n_rows, int64_t width);
  static uint64_t bytes(int64_t n_rows, int64_t width);

  // Its first rows, of this width.
  [[nodiscard]] kernels::Activations view(int64_t n_rows, int64_t width) const noexcept;
};

// Rows [begin, end).
[[nodiscard]] kernels::Activations part_of(const kernels::Activations& a, int64_t begin, int64_t end) noexcept;

}  // namespace lockstep::model
