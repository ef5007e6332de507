#include "bench_report.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

BenchEntry entry(BenchTest test, int64_t n, int64_t depth, int64_t batch) {
  return {test, n, depth, batch, 2, "avx512", "f16", {{100, 90, 110}, 27.8, 0.695, 4.5, 40, 4.25, 0.01}, 5, 1, true};
}

TEST(BenchReport, NamesTestsBySizeDepthAndBatch) {
  EXPECT_EQ(test_name(entry(BenchTest::kPrefill, 512, 0, 1)), "pp512");
  EXPECT_EQ(test_name(entry(BenchTest::kDecode, 32, 4096, 1)), "tg32@d4096");
  EXPECT_EQ(test_name(entry(BenchTest::kDecode, 128, 0, 4)), "tg128@b4");
  EXPECT_EQ(test_name(entry(BenchTest::kDecode, 128, 64, 8)), "tg128@d64@b8");
}

TEST(BenchReport, HasOneJsonEntryATestWithPlainNumbers) {
  const std::vector<BenchEntry> entries = {entry(BenchTest::kPrefill, 512, 0, 1), entry(BenchTest::kDecode, 128, 0, 4)};
  const Json json = bench_json(entries);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["test"], "tg128@b4");
  EXPECT_EQ(json[1]["tps"], (Json{{"median", 100.0}, {"min", 90.0}, {"max", 110.0}}));
  EXPECT_EQ(json[1]["runs"], 5);
  EXPECT_EQ(json[1]["steady"], true);
  EXPECT_EQ(json[1]["threads"], 2);
  EXPECT_EQ(json[1]["isa"], "avx512");
  EXPECT_EQ(json[1]["kv_type"], "f16");
  EXPECT_EQ(json[1]["gbps"], 27.8);
  EXPECT_EQ(json[1]["bandwidth_share"], 0.695);
  EXPECT_EQ(json[1]["mac_per_cycle"], 4.5);
}

TEST(BenchReport, HasAsManyCsvFieldsAsTheHeaderNames) {
  const std::vector<BenchEntry> entries = {entry(BenchTest::kPrefill, 512, 0, 1)};
  const std::string csv = bench_csv(entries);
  const std::string header = csv.substr(0, csv.find('\n'));
  const std::string line = csv.substr(csv.find('\n') + 1);
  EXPECT_EQ(std::ranges::count(header, ','), std::ranges::count(line, ','));
  EXPECT_EQ(line, "pp512,100.000,90.000,110.000,5,true,1,2,avx512,f16,27.800,0.6950,4.500,40.000,4.250,0.010\n");
}

TEST(BenchReport, HasAMarkdownTableOfEqualColumns) {
  const std::vector<BenchEntry> entries = {entry(BenchTest::kPrefill, 512, 0, 1), entry(BenchTest::kDecode, 9, 8, 7)};
  const std::string table = bench_markdown(entries);
  const size_t width = table.find('\n');
  EXPECT_EQ(std::ranges::count(table, '\n'), 4);
  for (size_t at = width; at < table.size(); at += width + 1) EXPECT_EQ(table[at], '\n');
  EXPECT_EQ(std::ranges::count(table.substr(0, width), '|') * 4, std::ranges::count(table, '|'));
}

}  // namespace
}  // namespace lockstep
