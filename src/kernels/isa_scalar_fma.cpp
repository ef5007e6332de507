// The same source compiled with the CPU's fused multiply-add (and the vectors that come with it): the same bits, much
// faster.
#include "kernels/oracle/oracle_table.h"

namespace lockstep::kernels {
extern const KernelTable kScalarFmaTable;
constinit const KernelTable kScalarFmaTable = oracle_table("scalar+fma");
}  // namespace lockstep::kernels
