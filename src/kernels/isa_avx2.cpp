// The vector kernels for AVX2 with FMA and F16C.
#include "kernels/simd/avx2.h"
//
#include "kernels/body/body_table.h"

namespace lockstep::kernels {
extern const KernelTable kAvx2Table;
constinit const KernelTable kAvx2Table = body_table(kIsaName);
}  // namespace lockstep::kernels
