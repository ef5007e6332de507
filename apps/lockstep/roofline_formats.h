// How fast the products of one token stream weights of every format: on a made-up matrix that fills the memory of the
// bandwidth probe, next to a reading of the same memory in the same round.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bandwidth_probe.h"
#include "exec/team.h"
#include "kernels/table.h"
#include "quant/tensor_type.h"

namespace lockstep {

struct FormatRate {
  quant::TensorType type;
  std::string isa;
  int threads;
  double gbps;
  double gweights;         // 1e9 weights a second
  double bandwidth_share;  // of the probe in the same rounds
};

struct FormatPlan {
  std::vector<quant::TensorType> types;
  std::vector<const kernels::KernelTable*> tables;
  std::vector<exec::Team*> teams;
};

// One after another in the order of the plan, by type, table, threads. A set too slow to stream the matrix in some
// hundredths of a second is measured on its first part. `progress` is told how many are done, and of how many.
[[nodiscard]] std::vector<FormatRate> measure_formats(const FormatPlan& plan, BandwidthProbe& probe,
                                                      const std::function<void(size_t, size_t)>& progress);

}  // namespace lockstep
