// What the two compilers spell differently.
#pragma once

#define LOCKSTEP_INLINE [[gnu::always_inline]] inline

// Before a loop of constant, small length whose index selects registers.
#if defined(__clang__)
#define LOCKSTEP_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LOCKSTEP_UNROLL _Pragma("GCC unroll 16")
#endif
