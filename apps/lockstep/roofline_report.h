// What `roofline` has measured, as JSON, CSV and bar charts for a terminal. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "core_probe.h"
#include "json_text.h"
#include "roofline_formats.h"

namespace lockstep {

// Of a team of `threads`.
struct MachineLimits {
  int threads;
  double read_gbps;
  double clock_ghz;
  Rates int8_gmacs;
  Rates fp32_gmacs;
};

struct Roofline {
  std::vector<MachineLimits> machine;  // the first is of one thread
  std::vector<FormatRate> formats;
};

[[nodiscard]] Json roofline_json(const Roofline& roofline);
[[nodiscard]] std::string roofline_csv(const Roofline& roofline);
[[nodiscard]] std::string roofline_chart(const Roofline& roofline);

// `value` of `full` as up to `width` characters #; a value above `full` fills the width.
[[nodiscard]] std::string bar(double value, double full, int width);

}  // namespace lockstep
