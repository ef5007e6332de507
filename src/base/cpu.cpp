#include "base/cpu.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__linux__) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lockstep {
namespace {

// CPUs granted by the cgroup v2 file "cpu.max" ("QUOTA PERIOD" in microseconds, or "max PERIOD"); 0 when unlimited or
// absent.
int cgroup_quota() {
  std::ifstream in("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) return 0;
  double microseconds = 0;
  const auto [end, error] = std::from_chars(quota.data(), quota.data() + quota.size(), microseconds);
  if (error != std::errc() || end != quota.data() + quota.size()) return 0;
  return std::max(1, static_cast<int>(std::ceil(microseconds / period)));
}

int affinity_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

#if defined(__x86_64__)
// What __builtin_cpu_supports does not know on every compiler (Intel SDM volume 2, CPUID): leaf 1, ECX bit 29;
// leaf 7.1, EAX bit 4.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1u) != 0;
}

bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1u) != 0;
}
#endif

}  // namespace

CpuFeatures cpu_features() {
  CpuFeatures f;
#if defined(__x86_64__)
  __builtin_cpu_init();
  f.fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
  f.avx_vnni = f.fma && has_avx_vnni();
  f.avx512_vnni = f.fma && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                  __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                  __builtin_cpu_supports("avx512vnni") != 0;
  f.gfni = __builtin_cpu_supports("gfni") != 0;
#elif defined(__linux__) && defined(__aarch64__)
  f.dotprod = (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  f.i8mm = f.dotprod && (::getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
  return f;
}

std::vector<std::string> feature_names(const CpuFeatures& features) {
  std::vector<std::string> names;
  if (features.fma) names.insert(names.end(), {"avx2", "fma", "f16c"});
  if (features.avx_vnni) names.emplace_back("avx_vnni");
  if (features.avx512_vnni) names.emplace_back("avx512_vnni");
  if (features.gfni) names.emplace_back("gfni");
  if (features.dotprod) names.emplace_back("dotprod");
  if (features.i8mm) names.emplace_back("i8mm");
  return names;
}

int usable_cpus() {
  const int quota = cgroup_quota();
  const int cpus = std::max(1, affinity_cpus());
  return quota > 0 ? std::min(cpus, quota) : cpus;
}

std::vector<int> affinity_list() {
  std::vector<int> cpus;
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
#endif
  return cpus;
}

bool pin_this_thread([[maybe_unused]] int cpu) noexcept {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
#else
  return false;
#endif
}

}  // namespace lockstep
