#include "bench_report.h"

#include <fmt/format.h>

namespace lockstep {

std::string test_name(const BenchEntry& entry) {
  std::string name = fmt::format("{}{}", entry.test == BenchTest::kPrefill ? "pp" : "tg", entry.n);
  if (entry.depth > 0) name += fmt::format("@d{}", entry.depth);
  if (entry.batch > 1) name += fmt::format("@b{}", entry.batch);
  return name;
}

Json bench_json(std::span<const BenchEntry> entries) {
  Json all = Json::array();
  for (const BenchEntry& entry : entries) {
    const Figures& f = entry.figures;
    const Spread& tps = f.tokens_per_second;
    all.push_back({{"test", test_name(entry)},
                   {"tps", {{"median", tps.median}, {"min", tps.min}, {"max", tps.max}}},
                   {"runs", entry.runs},
                   {"steady", entry.steady},
                   {"discarded", entry.discarded},
                   {"threads", entry.threads},
                   {"isa", entry.isa},
                   {"kv_type", entry.kv_type},
                   {"gbps", f.gbps},
                   {"bandwidth_share", f.bandwidth_share},
                   {"mac_per_cycle", f.mac_per_cycle},
                   {"read_gbps", f.read_gbps},
                   {"clock_ghz", f.clock_ghz},
                   {"foreign_cpus", f.foreign_cpus}});
  }
  return all;
}

std::string bench_csv(std::span<const BenchEntry> entries) {
  std::string text =
      "test,tps_median,tps_min,tps_max,runs,steady,discarded,threads,isa,kv_type,gbps,bandwidth_share,mac_per_cycle,"
      "read_gbps,clock_ghz,foreign_cpus\n";
  for (const BenchEntry& entry : entries) {
    const Figures& f = entry.figures;
    const Spread& tps = f.tokens_per_second;
    text += fmt::format("{},{:.3f},{:.3f},{:.3f},{},{},{},{},{},{},{:.3f},{:.4f},{:.3f},{:.3f},{:.3f},{:.3f}\n",
                        test_name(entry), tps.median, tps.min, tps.max, entry.runs, entry.steady, entry.discarded,
                        entry.threads, entry.isa, entry.kv_type, f.gbps, f.bandwidth_share, f.mac_per_cycle,
                        f.read_gbps, f.clock_ghz, f.foreign_cpus);
  }
  return text;
}

std::string bench_markdown(std::span<const BenchEntry> entries) {
  std::string text = fmt::format(
      "| {:<16} | {:>7} | {:<10} | {:<5} | {:>9} | {:>19} | {:>6} | {:>7} | {:>9} | {:>6} | {:>6} |\n", "test",
      "threads", "isa", "kv", "tokens/s", "min .. max", "GB/s", "of read", "MAC/cycle", "GHz", "steady");
  text += fmt::format("|{:-<18}|{:->8}:|{:-<12}|{:-<7}|{:->10}:|{:->20}:|{:->7}:|{:->8}:|{:->10}:|{:->7}:|{:-<8}|\n",
                      "", "", "", "", "", "", "", "", "", "", "");
  for (const BenchEntry& entry : entries) {
    const Figures& f = entry.figures;
    const Spread& tps = f.tokens_per_second;
    text += fmt::format(
        "| {:<16} | {:>7} | {:<10} | {:<5} | {:>9.2f} | {:>8.2f} .. {:>7.2f} | {:>6.1f} | {:>5.1f} % | {:>9.1f} | "
        "{:>6.2f} | {:>6} |\n",
        test_name(entry), entry.threads, entry.isa, entry.kv_type, tps.median, tps.min, tps.max, f.gbps,
        100 * f.bandwidth_share, f.mac_per_cycle, f.clock_ghz, entry.steady ? "yes" : "no");
  }
  return text;
}

}  // namespace lockstep
