// The vector kernels for AVX2 with AVX-VNNI.
#define LOCKSTEP_AVX_VNNI
#include "kernels/simd/avx2.h"
//
#include "kernels/body/body_table.h"

namespace lockstep::kernels {
extern const KernelTable kAvxVnniTable;
constinit const KernelTable kAvxVnniTable = body_table(kIsaName);
}  // namespace lockstep::kernels
