// The vector kernels for AVX-512 with VNNI.
#include "kernels/simd/avx512.h"
//
#include "kernels/body/body_table.h"

namespace lockstep::kernels {
extern const KernelTable kAvx512Table;
constinit const KernelTable kAvx512Table = body_table(kIsaName);
}  // namespace lockstep::kernels
