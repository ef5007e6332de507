#include "quant/unpack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "quant/test_data.h"

namespace lockstep::quant {
namespace {

struct Range {
  int least = 1000;
  int greatest = -1000;
};

// The integers of many blocks of random bytes.
template <TensorType type>
Range integers_of_random_blocks() {
  using F = Form<type>;
  std::mt19937 random(7);
  Range range;
  for (int i = 0; i < 1000; ++i) {
    typename F::Block block;
    unsigned char bytes[sizeof(block)];
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random() & 0xff);
    std::memcpy(&block, bytes, sizeof(block));
    Unpacked unpacked;
    unpack<type>(block, unpacked);
    const auto [least, greatest] = std::minmax_element(unpacked.q, unpacked.q + F::kBlock);
    range.least = std::min<int>(range.least, *least);
    range.greatest = std::max<int>(range.greatest, *greatest);
  }
  return range;
}

// Largest integers by NUMERICS.md section 1; the bounds of the integer dot products rest on them.
int greatest_integer(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return 7;
    case TensorType::kQ4_1:
    case TensorType::kQ4_K:
    case TensorType::kIQ3_S:
    case TensorType::kQ5_0:
      return 15;
    case TensorType::kQ5_1:
    case TensorType::kQ5_K:
    case TensorType::kQ6_K:
      return 31;
    case TensorType::kQ8_0:
      return 127;
    case TensorType::kQ2_K:
    case TensorType::kQ3_K:
      return 3;
    case TensorType::kIQ4_NL:
    case TensorType::kIQ4_XS:
      return 113;
    case TensorType::kTQ1_0:
      return 1;
    case TensorType::kTQ2_0:
      return 2;
    case TensorType::kMXFP4:
      return 12;
    default:
      return -1;
  }
}

class Unpack : public testing::TestWithParam<TensorType> {};

TEST_P(Unpack, KeepsTheIntegersWithinTheBoundsOfTheProduct) {
  const bool known = visit_form(GetParam(), [](auto tag) {
    const Range range = integers_of_random_blocks<tag.type>();
    EXPECT_EQ(range.least, -Form<tag.type>::kZero);
    EXPECT_EQ(range.greatest, greatest_integer(tag.type));
  });
  EXPECT_TRUE(known);
}

TEST_P(Unpack, AgreesWithTheFormatTable) {
  const bool known = visit_form(GetParam(), [](auto tag) {
    using F = Form<tag.type>;
    EXPECT_EQ(static_cast<uint32_t>(F::kBlock), format_info(tag.type).block_size);
    EXPECT_EQ(sizeof(typename F::Block), format_info(tag.type).block_bytes);
    EXPECT_TRUE(F::kGroup == 16 || F::kGroup == 32);
  });
  EXPECT_TRUE(known);
}

INSTANTIATE_TEST_SUITE_P(Types, Unpack, testing::ValuesIn(test::quantized_types()), test::type_name);

TEST(VisitForm, CallsNothingForTypesWithoutAForm) {
  for (const FormatInfo& format : all_formats()) {
    int calls = 0;
    const bool known = visit_form(format.type, [&](auto) { ++calls; });
    EXPECT_EQ(known, format.supported && format.block_size > 1) << format.name;
    EXPECT_EQ(calls, known ? 1 : 0) << format.name;
  }
}

}  // namespace
}  // namespace lockstep::quant
