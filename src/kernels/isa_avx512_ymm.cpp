// The vector kernels for AVX-512 VNNI on 256-bit registers: for CPUs that lose clock on wider ones (never chosen by
// itself), and the proof of the AVX-VNNI kernels on machines that have only the other encoding of the same instruction.
#define LOCKSTEP_AVX_VNNI
#include "kernels/simd/avx2.h"
//
#include "kernels/body/body_table.h"

namespace lockstep::kernels {
extern const KernelTable kAvx512YmmTable;
constinit const KernelTable kAvx512YmmTable = body_table(kIsaName);
}  // namespace lockstep::kernels
