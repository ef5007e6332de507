// The scalar definition, compiled for the plainest CPU: the oracle of every test, and the last resort at run time.
#include "kernels/oracle/oracle_table.h"

namespace lockstep::kernels {
extern const KernelTable kScalarTable;
constinit const KernelTable kScalarTable = oracle_table("scalar");
}  // namespace lockstep::kernels
