#include "roofline_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quant/format.h"

namespace lockstep {
namespace {

constexpr int kBarWidth = 40;

Json rates_json(const Rates& rates) {
  Json object = Json::object();
  for (const auto& [isa, rate] : rates) object[isa] = rate;
  return object;
}

// {"1": ..., "2": ...}
template <typename Member>
Json by_threads(const Roofline& roofline, const Member& member) {
  Json object = Json::object();
  for (const MachineLimits& limits : roofline.machine) object[std::to_string(limits.threads)] = member(limits);
  return object;
}

std::string rate_lines(const Roofline& roofline, std::string_view title, Rates MachineLimits::*rates) {
  std::string text = fmt::format("\n{}\n", title);
  double full = 0;
  for (const MachineLimits& limits : roofline.machine) {
    for (const auto& [isa, rate] : limits.*rates) full = std::max(full, rate);
  }
  for (const MachineLimits& limits : roofline.machine) {
    for (const auto& [isa, rate] : limits.*rates) {
      const double per_cycle = rate / limits.clock_ghz / limits.threads;
      text += fmt::format("  {:<11} {:>3} thr {:>8.1f} {:>6.1f} MAC/cycle {}\n", isa, limits.threads, rate, per_cycle,
                          bar(rate, full, kBarWidth));
    }
  }
  return text;
}

}  // namespace

std::string bar(double value, double full, int width) {
  if (!(full > 0) || !(value > 0)) return "";
  return std::string(static_cast<size_t>(std::lround(std::min(value / full, 1.0) * width)), '#');
}

Json roofline_json(const Roofline& roofline) {
  const MachineLimits& one = roofline.machine.front();
  Json formats = Json::array();
  for (const FormatRate& rate : roofline.formats) {
    formats.push_back({{"format", quant::to_string(rate.type)},
                       {"isa", rate.isa},
                       {"threads", rate.threads},
                       {"gbps", rate.gbps},
                       {"gweights", rate.gweights},
                       {"bandwidth_share", rate.bandwidth_share}});
  }
  return {
      {"read_gbps", by_threads(roofline, [](const MachineLimits& l) { return Json(l.read_gbps); })},
      {"int8_gmacs", rates_json(one.int8_gmacs)},
      {"int8_gmacs_by_threads", by_threads(roofline, [](const MachineLimits& l) { return rates_json(l.int8_gmacs); })},
      {"fp32_gmacs", rates_json(one.fp32_gmacs)},
      {"fp32_gmacs_by_threads", by_threads(roofline, [](const MachineLimits& l) { return rates_json(l.fp32_gmacs); })},
      {"clock_ghz", by_threads(roofline, [](const MachineLimits& l) { return Json(l.clock_ghz); })},
      {"formats", std::move(formats)}};
}

std::string roofline_csv(const Roofline& roofline) {
  std::string text = "measure,format,isa,threads,gbps,gweights,bandwidth_share,gmacs,clock_ghz\n";
  for (const MachineLimits& l : roofline.machine) {
    text += fmt::format("read,,,{},{:.3f},,,,{:.3f}\n", l.threads, l.read_gbps, l.clock_ghz);
    for (const auto& [isa, rate] : l.int8_gmacs)
      text += fmt::format("int8,,{},{},,,,{:.3f},{:.3f}\n", isa, l.threads, rate, l.clock_ghz);
    for (const auto& [isa, rate] : l.fp32_gmacs)
      text += fmt::format("fp32,,{},{},,,,{:.3f},{:.3f}\n", isa, l.threads, rate, l.clock_ghz);
  }
  for (const FormatRate& r : roofline.formats) {
    text += fmt::format("format,{},{},{},{:.3f},{:.3f},{:.4f},,\n", quant::to_string(r.type), r.isa, r.threads, r.gbps,
                        r.gweights, r.bandwidth_share);
  }
  return text;
}

std::string roofline_chart(const Roofline& roofline) {
  std::string text = "Reading memory, GB/s\n";
  double full = 0;
  for (const MachineLimits& l : roofline.machine) full = std::max(full, l.read_gbps);
  for (const MachineLimits& l : roofline.machine) {
    text += fmt::format("  {:>3} thr at {:.2f} GHz {:>8.1f} {}\n", l.threads, l.clock_ghz, l.read_gbps,
                        bar(l.read_gbps, full, kBarWidth));
  }
  text += rate_lines(roofline, "Multiply-adds of 8-bit integers, 1e9 a second", &MachineLimits::int8_gmacs);
  text += rate_lines(roofline, "Multiply-adds of fp32, 1e9 a second", &MachineLimits::fp32_gmacs);
  text += "\nOne token's product with weights from memory: GB/s, 1e9 weights a second, share of the reading rate\n";
  for (const FormatRate& r : roofline.formats) {
    text += fmt::format("  {:<7} {:<11} {:>3} thr {:>7.1f} {:>7.1f} {:>5.1f} % {}\n", quant::to_string(r.type), r.isa,
                        r.threads, r.gbps, r.gweights, 100 * r.bandwidth_share, bar(r.bandwidth_share, 1.0, kBarWidth));
  }
  return text;
}

}  // namespace lockstep
