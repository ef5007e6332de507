#include "kernels/select.h"

#include <vector>

#include "base/cpu.h"
#include "base/error.h"

namespace lockstep::kernels {

extern const KernelTable kScalarTable;
#if defined(__x86_64__)
extern const KernelTable kScalarFmaTable;
extern const KernelTable kAvx2Table;
extern const KernelTable kAvxVnniTable;
extern const KernelTable kAvx512Table;
extern const KernelTable kAvx512YmmTable;
#elif defined(__aarch64__)
extern const KernelTable kNeonTable;
extern const KernelTable kNeonDotprodTable;
extern const KernelTable kNeonI8mmTable;
#endif

namespace {

std::vector<const KernelTable*> runnable_tables() {
  std::vector<const KernelTable*> tables;
#if defined(__x86_64__)
  const CpuFeatures cpu = cpu_features();
  if (cpu.avx512_vnni) tables.insert(tables.end(), {&kAvx512Table, &kAvx512YmmTable});
  if (cpu.avx_vnni) tables.push_back(&kAvxVnniTable);
  if (cpu.fma) tables.insert(tables.end(), {&kAvx2Table, &kScalarFmaTable});
#elif defined(__aarch64__)
  const CpuFeatures cpu = cpu_features();
  if (cpu.i8mm) tables.push_back(&kNeonI8mmTable);
  if (cpu.dotprod) tables.push_back(&kNeonDotprodTable);
  tables.push_back(&kNeonTable);
#endif
  tables.push_back(&kScalarTable);
  return tables;
}

// "neon" is the family of neon-base and its betters.
bool goes_by(const KernelTable& table, std::string_view isa) {
  const std::string_view name = table.isa;
  return name == isa || (name.starts_with(isa) && name.substr(isa.size()).starts_with('-'));
}

}  // namespace

std::span<const KernelTable* const> available_tables() {
  static const std::vector<const KernelTable*> tables = runnable_tables();
  return tables;
}

const KernelTable& definition_table() {
  return kScalarTable;
}

std::string_view to_string(CacheType type) {
  switch (type) {
    case CacheType::kF16:
      return "f16";
    case CacheType::kF32:
      return "f32";
    case CacheType::kQ8_0:
      return "q8_0";
  }
  return "unknown";
}

const KernelTable& select_table(std::string_view isa) {
  if (isa == "auto") return *available_tables().front();
  std::string names = "auto";
  for (const KernelTable* table : available_tables()) {
    if (goes_by(*table, isa)) return *table;
    names += fmt::format(", {}", table->isa);
  }
  fail(ErrorCode::kBadRequest, "isa {}: this CPU and build have {}", printable(isa), names);
}

}  // namespace lockstep::kernels
