// The vector kernels for every AArch64 CPU.
#include "kernels/simd/neon.h"
//
#include "kernels/body/body_table.h"

namespace lockstep::kernels {
extern const KernelTable kNeonTable;
constinit const KernelTable kNeonTable = body_table(kIsaName);
}  // namespace lockstep::kernels
