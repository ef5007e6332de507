#include "kernels/select.h"

#include <vector>

#include "base/cpu.h"
#include "base/error.h"

namespace lockstep::kernels {

extern const KernelTable kScalarTable;
#if defined(__x86_64__)
extern const KernelTable kScalarFmaTable;
#endif

namespace {

std::vector<const KernelTable*> runnable_tables() {
  std::vector<const KernelTable*> tables;
#if defined(__x86_64__)
  if (cpu_features().fma) tables.push_back(&kScalarFmaTable);
#endif
  tables.push_back(&kScalarTable);
  return tables;
}

}  // namespace

std::span<const KernelTable* const> available_tables() {
  static const std::vector<const KernelTable*> tables = runnable_tables();
  return tables;
}

const KernelTable& select_table(std::string_view isa) {
  if (isa == "auto") return *available_tables().front();
  std::string names = "auto";
  for (const KernelTable* table : available_tables()) {
    if (table->isa == isa) return *table;
    names += fmt::format(", {}", table->isa);
  }
  fail(ErrorCode::kBadRequest, "isa {}: this CPU and build have {}", printable(isa), names);
}

}  // namespace lockstep::kernels
