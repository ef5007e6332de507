// The scalar products for a table whose weights are packed: what takes the place of a product that computes wrongly on
// this machine. Every row is brought back into the file's form before it is multiplied: right, and slow.
#pragma once

#include "kernels/table.h"
#include "quant/tensor_type.h"

namespace lockstep::kernels {

using Product = void (*)(const LinearJob&) noexcept;

// The scalar sets that there are here, the fast one first; "scalar", the definition, is always the last.
struct ScalarSets {
  const KernelTable* sets[2];
  int n;
};
[[nodiscard]] ScalarSets scalar_sets();

// The product of packed rows by scalar set `index` of those; null where the type has none.
[[nodiscard]] Product packed_row_product(int index, quant::TensorType type, bool exact);

}  // namespace lockstep::kernels
