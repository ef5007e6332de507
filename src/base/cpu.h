// What the processor can do and how much of it this process may use.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// The instruction-set features that a kernel set may ask for; all false on another architecture. The operating system's
// support for the wider registers is included.
struct CpuFeatures {
  bool fma = false;  // AVX2, FMA3 and F16C together: x86-64-v3 as far as kernels use it
  bool avx_vnni = false;
  bool avx512_vnni = false;  // with F, BW, DQ, VL
  bool gfni = false;
  bool dotprod = false;  // AArch64: SDOT
  bool i8mm = false;     // AArch64: SMMLA
};

[[nodiscard]] CpuFeatures cpu_features();

// The names of the features present, for people.
[[nodiscard]] std::vector<std::string> feature_names(const CpuFeatures& features);

// Processors that this process may run on at once: the affinity mask, at most the cgroup CPU quota rounded up; at
// least 1.
[[nodiscard]] int usable_cpus();

// The processors of the affinity mask, ascending; empty where the system does not say.
[[nodiscard]] std::vector<int> affinity_list();

// Keeps the calling thread on one processor. False when the system will not.
bool pin_this_thread(int cpu) noexcept;

}  // namespace lockstep
