#include "quant/format.h"

#include <gtest/gtest.h>

#include <fstream>

#include "quant/test_data.h"

namespace lockstep::quant {
namespace {

struct Expected {
  std::string name;
  uint32_t number = 0;
  uint32_t block_size = 0;
  uint32_t block_bytes = 0;
};

std::vector<Expected> read_block_sizes() {
  std::ifstream in(test::data_path("block_sizes.tsv"));
  std::vector<Expected> rows;
  for (Expected row; in >> row.name >> row.number >> row.block_size >> row.block_bytes;) rows.push_back(row);
  return rows;
}

TEST(Format, HasTheNumbersNamesAndBlockSizesOfTheGgufPackage) {
  const std::vector<Expected> rows = read_block_sizes();
  EXPECT_EQ(rows.size(), all_formats().size());
  for (const Expected& row : rows) {
    const FormatInfo* format = find_format(row.number);
    ASSERT_NE(format, nullptr) << row.name;
    EXPECT_EQ(format->name, row.name);
    EXPECT_EQ(format->block_size, row.block_size) << row.name;
    EXPECT_EQ(format->block_bytes, row.block_bytes) << row.name;
    EXPECT_EQ(find_format_by_name(row.name), format);
    EXPECT_EQ(&format_info(format->type), format);
  }
}

TEST(Format, HasNothingForNumbersOfRemovedAndUnknownTypes) {
  for (const uint32_t number : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 255u, 0xffffffffu}) {
    EXPECT_EQ(find_format(number), nullptr) << number;
  }
  EXPECT_EQ(find_format_by_name("Q4_2"), nullptr);
  EXPECT_EQ(find_format_by_name(""), nullptr);
}

TEST(Format, CountsTheBytesOfARow) {
  EXPECT_EQ(row_bytes(TensorType::kF16, 3), 6u);
  EXPECT_EQ(row_bytes(TensorType::kQ4_0, 64), 36u);
  EXPECT_EQ(row_bytes(TensorType::kQ6_K, 4096), 16u * 210u);
  EXPECT_EQ(row_bytes(TensorType::kQ8_0, uint64_t{1} << 40), (uint64_t{1} << 35) * 34);
}

}  // namespace
}  // namespace lockstep::quant
