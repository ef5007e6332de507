// The vector kernels for AArch64 with the byte dot products of Armv8.2.
#define LOCKSTEP_DOTPROD
#include "kernels/simd/neon.h"
//
#include "kernels/body/body_table.h"

namespace lockstep::kernels {
extern const KernelTable kNeonDotprodTable;
constinit const KernelTable kNeonDotprodTable = body_table(kIsaName);
}  // namespace lockstep::kernels
