#include "kernels/row_product.h"

#include <array>
#include <utility>

#include "base/cpu.h"
#include "kernels/packed.h"

namespace lockstep::kernels {

extern const KernelTable kScalarTable;
#if defined(__x86_64__)
extern const KernelTable kScalarFmaTable;
#endif

namespace {

constexpr size_t kTypes = std::size(KernelTable().fast);

template <const KernelTable& scalar, size_t type, bool exact>
void multiply_rows(const LinearJob& job) noexcept {
  const Product product = exact ? scalar.exact[type] : scalar.fast[type];
  for (int64_t row = job.row_begin; row < job.row_end; ++row) {
    const int64_t in_group = row % kRowsPerGroup;
    const std::byte* group = job.w.data + static_cast<uint64_t>(row - in_group) * job.w.row_bytes;
    unpack_row(static_cast<quant::TensorType>(type), group, in_group, job.w.n_cols, job.w.row_bytes, job.scratch);
    LinearJob one = job;
    one.w = {job.scratch, job.w.row_bytes, 1, job.w.n_cols};
    one.row_begin = 0;
    one.row_end = 1;
    one.out = job.out + row;
    product(one);
  }
}

template <const KernelTable& scalar, bool exact, size_t... types>
constexpr std::array<Product, kTypes> row_products(std::index_sequence<types...>) {
  return {multiply_rows<scalar, types, exact>...};
}

template <const KernelTable& scalar>
Product row_product_of(size_t type, bool exact) {
  static constexpr auto kFast = row_products<scalar, false>(std::make_index_sequence<kTypes>());
  static constexpr auto kExact = row_products<scalar, true>(std::make_index_sequence<kTypes>());
  if ((exact ? scalar.exact[type] : scalar.fast[type]) == nullptr) return nullptr;
  return exact ? kExact[type] : kFast[type];
}

}  // namespace

ScalarSets scalar_sets() {
#if defined(__x86_64__)
  if (cpu_features().fma) return {{&kScalarFmaTable, &kScalarTable}, 2};
#endif
  return {{&kScalarTable, nullptr}, 1};
}

Product packed_row_product(int index, quant::TensorType type, bool exact) {
  const auto number = static_cast<size_t>(type);
#if defined(__x86_64__)
  if (scalar_sets().sets[index] == &kScalarFmaTable) return row_product_of<kScalarFmaTable>(number, exact);
#endif
  static_cast<void>(index);
  return row_product_of<kScalarTable>(number, exact);
}

}  // namespace lockstep::kernels
