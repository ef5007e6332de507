// The vector kernels for AArch64 with the byte dot products of Armv8.2 and the matrix products of Armv8.6.
#define LOCKSTEP_DOTPROD
#define LOCKSTEP_TOKEN_PAIRS
#include "kernels/simd/neon.h"
//
#include "kernels/body/body_table.h"

namespace lockstep::kernels {
extern const KernelTable kNeonI8mmTable;
constinit const KernelTable kNeonI8mmTable = body_table(kIsaName);
}  // namespace lockstep::kernels
