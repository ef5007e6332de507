// Every kernel set of this binary against the scalar definition, operation by operation, by memcmp. The sets are those
// that available_tables() lists; the definition is compiled once more here, with no flags of its own. Seeded random
// data, and data at the bounds that the integer products rest on (NUMERICS.md section 4).
#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "base/error.h"
#include "forge/attention_case.h"
#include "forge/linear_case.h"
#include "kernels/oracle/oracle_table.h"
#include "kernels/select.h"

namespace lockstep::kernels {
namespace {

using forge::ActivationKind;
using forge::AttentionCase;
using forge::BlockKind;
using forge::LinearCase;
using forge::RandomData;

constexpr KernelTable kDefinition = oracle_table("definition");

template <typename T>
[[nodiscard]] testing::AssertionResult same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " and " << b.size() << " elements";
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) == 0) continue;
    return testing::AssertionFailure() << "element " << i << " of " << a.size() << ": " << +a[i] << " for " << +b[i];
  }
  return testing::AssertionSuccess();
}

std::string table_name(const KernelTable& table) {
  std::string name = table.isa;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

// Vector lengths around every multiple that a kernel may unroll to.
std::vector<int64_t> lengths() {
  std::vector<int64_t> all = {127, 128, 129, 255, 256, 257, 576, 1000, 1536, 4096};
  for (int64_t n = 1; n <= 80; ++n) all.push_back(n);
  return all;
}

class EveryTable : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& table_ = *GetParam();
};

TEST_P(EveryTable, QuantizesLikeTheDefinition) {
  RandomData random(1);
  for (const auto kind : {ActivationKind::kOrdinary, ActivationKind::kAllMax, ActivationKind::kWide}) {
    for (const int64_t n : {32, 64, 96, 128, 160, 192, 224, 256, 288, 576, 1536, 4128}) {
      forge::ActivationRows wanted = forge::random_activations(n, 3, kind, random);
      forge::ActivationRows got = wanted;
      EXPECT_TRUE(wanted.quantize(kDefinition));
      EXPECT_TRUE(got.quantize(table_));
      EXPECT_TRUE(same_bits(got.q, wanted.q)) << n;
      EXPECT_TRUE(same_bits(got.scale, wanted.scale)) << n;
      EXPECT_TRUE(same_bits(got.sum, wanted.sum)) << n;
      if (kind != ActivationKind::kAllMax)
        forge::expect_varied<float>(std::span(wanted.x).first(static_cast<size_t>(n)), 0.99);
    }
  }
}

TEST_P(EveryTable, QuantizesTiesTinyHugeAndBrokenGroupsLikeTheDefinition) {
  RandomData random(2);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> peaks = {0.0f,
                                    -0.0f,
                                    1e-45f,
                                    1e-38f,
                                    9.9e-31f,
                                    1e-30f,
                                    1.1e-30f,
                                    1.0f,
                                    127.0f,
                                    254.0f,
                                    1e30f,
                                    3.4e38f,
                                    -127.0f,
                                    kInf,
                                    -kInf,
                                    std::numeric_limits<float>::quiet_NaN(),
                                    -std::numeric_limits<float>::quiet_NaN()};
  for (const float peak : peaks) {
    for (int place = 0; place < 32; ++place) {
      forge::ActivationRows wanted(96, 1);
      // With the peak at 127 or 254, halves and odd numbers are ties.
      for (int i = 0; i < 96; ++i) {
        wanted.row(0)[i] = i / 32 == 1 ? static_cast<float>(random.below(253) - 126) * peak / 254.0f : random.normal();
      }
      wanted.row(0)[32 + place] = peak;
      forge::ActivationRows got = wanted;
      EXPECT_EQ(got.quantize(table_), wanted.quantize(kDefinition)) << peak;
      EXPECT_TRUE(same_bits(got.q, wanted.q)) << peak << ' ' << place;
      EXPECT_TRUE(same_bits(got.scale, wanted.scale)) << peak << ' ' << place;
      EXPECT_TRUE(same_bits(got.sum, wanted.sum)) << peak << ' ' << place;
    }
  }
}

TEST_P(EveryTable, NormalisesLikeTheDefinition) {
  RandomData random(3);
  for (const int64_t n : lengths()) {
    const std::vector<float> x = random.normals(n, 3.0f);
    const std::vector<float> weight = random.normals(n, 0.1f, 1.0f);
    std::vector<float> wanted(x.size());
    std::vector<float> got(x.size());
    kDefinition.rms_norm(x.data(), weight.data(), n, 1e-5f, wanted.data());
    table_.rms_norm(x.data(), weight.data(), n, 1e-5f, got.data());
    EXPECT_TRUE(same_bits(got, wanted)) << n;
    std::vector<float> in_place = x;
    table_.rms_norm(in_place.data(), weight.data(), n, 1e-5f, in_place.data());
    EXPECT_TRUE(same_bits(in_place, wanted)) << n;
    forge::expect_varied<float>(wanted, 0.99);
  }
}

TEST_P(EveryTable, ActivatesAndAddsLikeTheDefinition) {
  RandomData random(4);
  for (const int64_t n : lengths()) {
    std::vector<float> gate = random.normals(n, 20.0f);
    const std::vector<float> up = random.normals(n);
    for (const float special : {0.0f, -0.0f, 87.3f, -87.3f, 88.0f, -88.0f, 100.0f, -100.0f, 1e30f, -1e30f, 1e-40f}) {
      gate[static_cast<size_t>(random.below(n))] = special;
    }
    std::vector<float> wanted(gate.size());
    std::vector<float> got(gate.size());
    kDefinition.swiglu(gate.data(), up.data(), n, wanted.data());
    table_.swiglu(gate.data(), up.data(), n, got.data());
    EXPECT_TRUE(same_bits(got, wanted)) << n;
    std::vector<float> in_place = gate;
    table_.swiglu(in_place.data(), up.data(), n, in_place.data());
    EXPECT_TRUE(same_bits(in_place, wanted)) << n;
    kDefinition.add(wanted.data(), up.data(), n);
    table_.add(got.data(), up.data(), n);
    EXPECT_TRUE(same_bits(got, wanted)) << n;
  }
}

TEST_P(EveryTable, HasTheGeluAndTheSoftcapOfTheDefinition) {
  RandomData random(14);
  for (const int64_t n : lengths()) {
    std::vector<float> gate = random.normals(n, 4.0f);
    const std::vector<float> up = random.normals(n);
    for (const float special :
         {0.0f, -0.0f, 9.999f, 10.0f, 10.001f, -9.999f, -10.0f, -10.001f, 1e30f, -1e30f, 1e-40f}) {
      gate[static_cast<size_t>(random.below(n))] = special;
    }
    std::vector<float> wanted(gate.size());
    std::vector<float> got(gate.size());
    kDefinition.geglu(gate.data(), up.data(), n, wanted.data());
    table_.geglu(gate.data(), up.data(), n, got.data());
    EXPECT_TRUE(same_bits(got, wanted)) << n;
    for (const float cap : {0.5f, 30.0f}) {
      wanted = gate;
      got = gate;
      kDefinition.softcap(wanted.data(), n, cap);
      table_.softcap(got.data(), n, cap);
      EXPECT_TRUE(same_bits(got, wanted)) << n;
    }
  }
}

TEST_P(EveryTable, RotatesLikeTheDefinition) {
  RandomData random(5);
  for (const auto pairing : {RopePairing::kAdjacent, RopePairing::kHalves}) {
    for (int64_t n_rot = 2; n_rot <= 256; n_rot += n_rot < 100 ? 2 : 30) {
      std::vector<float> cos_sin;
      for (int64_t i = 0; i < n_rot / 2; ++i) {
        const double angle = 100.0 * random.unit();
        cos_sin.push_back(static_cast<float>(std::cos(angle)));
        cos_sin.push_back(static_cast<float>(std::sin(angle)));
      }
      std::vector<float> wanted = random.normals(n_rot + 5);
      std::vector<float> got = wanted;
      kDefinition.rope(wanted.data(), cos_sin.data(), n_rot, pairing);
      table_.rope(got.data(), cos_sin.data(), n_rot, pairing);
      EXPECT_TRUE(same_bits(got, wanted)) << n_rot;
    }
  }
}

TEST_P(EveryTable, AttendsLikeTheDefinition) {
  for (const auto type : {CacheType::kF16, CacheType::kF32, CacheType::kQ8_0}) {
    for (const int64_t head_dim : {16, 32, 40, 48, 64, 80, 96, 128, 256}) {
      if (type == CacheType::kQ8_0 && head_dim % kScaleGroup != 0) continue;
      for (const int64_t n_positions : {1, 2, 15, 16, 17, 31, 64, 100, 127, 128}) {
        for (const int64_t n_group : {1, 2, 3, 4, 5, 7, 8, 12}) {
          RandomData random(static_cast<uint64_t>(head_dim * 1000 + n_positions));
          const AttentionCase c = forge::random_attention(type, head_dim, n_positions, n_group, random);
          const forge::AttentionResult wanted = c.run(kDefinition);
          const forge::AttentionResult got = c.run(table_);
          EXPECT_TRUE(same_bits(got.k, wanted.k)) << head_dim;
          EXPECT_TRUE(same_bits(got.v, wanted.v)) << head_dim;
          EXPECT_TRUE(same_bits(got.max_and_sum, wanted.max_and_sum))
              << head_dim << ' ' << n_positions << ' ' << n_group;
          EXPECT_TRUE(same_bits(got.o, wanted.o)) << head_dim << ' ' << n_positions << ' ' << n_group;
        }
      }
    }
  }
}

TEST_P(EveryTable, AttendsToAWindowAndCapsScoresLikeTheDefinition) {
  for (const auto type : {CacheType::kF16, CacheType::kF32, CacheType::kQ8_0}) {
    for (const int64_t head_dim : {32, 40, 64, 96, 256}) {
      if (type == CacheType::kQ8_0 && head_dim % kScaleGroup != 0) continue;
      for (const auto& [first, n_positions] : std::vector<std::pair<int64_t, int64_t>>{
               {0, 1}, {0, 128}, {1, 2}, {3, 128}, {15, 17}, {16, 33}, {17, 100}, {64, 65}, {100, 128}, {127, 128}}) {
        for (const int64_t n_group : {1, 3, 4, 9}) {
          for (const float cap : {0.0f, 5.0f, 50.0f}) {
            RandomData random(static_cast<uint64_t>(head_dim * 1000 + n_positions));
            AttentionCase c = forge::random_attention(type, head_dim, n_positions, n_group, random);
            c.first_position = first;
            c.softcap = cap;
            const forge::AttentionResult wanted = c.run(kDefinition);
            const forge::AttentionResult got = c.run(table_);
            EXPECT_TRUE(same_bits(got.max_and_sum, wanted.max_and_sum)) << head_dim << ' ' << first << ' ' << cap;
            EXPECT_TRUE(same_bits(got.o, wanted.o)) << head_dim << ' ' << first << ' ' << n_positions << ' ' << cap;
            for (const float value : wanted.o) ASSERT_TRUE(std::isfinite(value)) << first << " reads what is before";
          }
        }
      }
    }
  }
}

TEST_P(EveryTable, AttendsAtTheEdgeOfAChunkLikeTheDefinitionTokenByToken) {
  for (const auto type : {CacheType::kF16, CacheType::kF32, CacheType::kQ8_0}) {
    for (const int64_t head_dim : {32, 40, 64, 80, 128}) {
      if (type == CacheType::kQ8_0 && head_dim % kScaleGroup != 0) continue;
      for (const auto& [heads, tokens] :
           std::vector<std::pair<int64_t, int64_t>>{{1, 16}, {2, 8}, {3, 5}, {4, 4}, {7, 2}, {9, 2}, {8, 3}}) {
        for (const int64_t n_positions : {tokens, int64_t{17}, int64_t{66}, int64_t{128}}) {
          RandomData random(static_cast<uint64_t>(head_dim * 1000 + n_positions));
          AttentionCase c = forge::random_attention(type, head_dim, n_positions, heads * tokens, random);
          c.heads_per_token = heads;
          const forge::AttentionResult together = c.run(table_);
          const forge::AttentionResult wanted = c.run(kDefinition);
          EXPECT_TRUE(same_bits(together.max_and_sum, wanted.max_and_sum)) << head_dim << ' ' << heads;
          EXPECT_TRUE(same_bits(together.o, wanted.o)) << head_dim << ' ' << heads << ' ' << n_positions;
          for (int64_t token = 0; token < tokens; ++token) {
            AttentionCase alone = c.of_token(token);
            const forge::AttentionResult one = alone.run(kDefinition);
            EXPECT_EQ(
                std::memcmp(one.o.data(), wanted.o.data() + token * heads * head_dim, one.o.size() * sizeof(float)), 0)
                << head_dim << ' ' << heads << ' ' << n_positions << ' ' << token;
          }
        }
      }
    }
  }
}

TEST_P(EveryTable, MergesAndFinishesLikeTheDefinition) {
  RandomData random(6);
  for (const int64_t head_dim : {16, 32, 48, 64, 80, 96, 128, 256, 512}) {
    for (const float gap : {0.0f, 1.0f, -1.0f, 50.0f, -50.0f, 90.0f, -90.0f, 1e4f, -1e4f}) {
      AttentionPartial wanted_total = {3.0f, 17.5f};
      AttentionPartial got_total = wanted_total;
      const AttentionPartial part = {3.0f + gap, 101.25f};
      std::vector<float> wanted = random.normals(head_dim);
      std::vector<float> got = wanted;
      const std::vector<float> o = random.normals(head_dim);
      kDefinition.merge_chunk(wanted_total, wanted.data(), part, o.data(), head_dim);
      table_.merge_chunk(got_total, got.data(), part, o.data(), head_dim);
      EXPECT_TRUE(same_bits(got, wanted)) << head_dim << ' ' << gap;
      EXPECT_EQ(std::memcmp(&got_total, &wanted_total, sizeof(got_total)), 0) << head_dim << ' ' << gap;
      kDefinition.finish_attention(wanted_total, wanted.data(), head_dim);
      table_.finish_attention(got_total, got.data(), head_dim);
      EXPECT_TRUE(same_bits(got, wanted)) << head_dim << ' ' << gap;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, EveryTable, testing::ValuesIn(available_tables().begin(), available_tables().end()),
                         [](const auto& parameter) { return table_name(*parameter.param); });

class EveryProduct : public testing::TestWithParam<std::tuple<const KernelTable*, quant::TensorType>> {
 protected:
  [[nodiscard]] static const KernelTable& table() { return *std::get<0>(GetParam()); }
  [[nodiscard]] static quant::TensorType type() { return std::get<1>(GetParam()); }

  static LinearCase random_case(int64_t n_rows, int64_t n_cols, int64_t n_tokens, BlockKind blocks,
                                ActivationKind activations) {
    RandomData random(static_cast<uint64_t>(((n_rows * 8192 + n_cols) * 32 + n_tokens) * 8) +
                      static_cast<uint64_t>(blocks));
    LinearCase c = {type(), n_rows, n_cols, forge::random_weights(type(), n_rows * n_cols, blocks, random),
                    forge::random_activations(n_cols, n_tokens, activations, random)};
    EXPECT_TRUE(c.a.quantize(kDefinition));
    return c;
  }
};

TEST_P(EveryProduct, EqualsTheDefinitionForEveryNumberOfTokens) {
  for (int64_t n_tokens = 1; n_tokens <= 17; ++n_tokens) {
    const LinearCase c = random_case(19, 512, n_tokens, BlockKind::kOrdinary, ActivationKind::kOrdinary);
    for (const bool fast : {false, true}) {
      const std::vector<float> wanted = c.product(kDefinition, fast);
      EXPECT_TRUE(same_bits(c.product(table(), fast), wanted))
          << (fast ? "fast, " : "exact, ") << n_tokens << " tokens";
      forge::expect_varied<float>(wanted, 0.99);
    }
  }
}

TEST_P(EveryProduct, EqualsTheDefinitionForBatchesOfAPrompt) {
  // Beyond what streams, every remainder of a panel's tiles.
  static_assert(kMostStreamed == 32);
  for (const int64_t n_tokens : {31, 32, 33, 34, 35, 36, 37, 64, 65}) {
    const LinearCase c = random_case(18, 512, n_tokens, BlockKind::kOrdinary, ActivationKind::kOrdinary);
    for (const bool fast : {false, true})
      EXPECT_TRUE(same_bits(c.product(table(), fast), c.product(kDefinition, fast))) << n_tokens;
  }
}

TEST_P(EveryProduct, EqualsTheDefinitionForEveryWidth) {
  const int64_t block = std::max<int64_t>(32, quant::format_info(type()).block_size);
  for (const int64_t n_cols : {block, 2 * block, 3 * block, 9 * block, int64_t{4096}, 4096 + block}) {
    const LinearCase c = random_case(9, n_cols, 2, BlockKind::kOrdinary, ActivationKind::kWide);
    for (const bool fast : {false, true})
      EXPECT_TRUE(same_bits(c.product(table(), fast), c.product(kDefinition, fast))) << n_cols;
  }
}

TEST_P(EveryProduct, EqualsTheDefinitionAtTheBoundsOfScalesAndIntegers) {
  for (const BlockKind blocks : forge::kBlockKinds) {
    for (const auto activations : {ActivationKind::kOrdinary, ActivationKind::kAllMax, ActivationKind::kWide}) {
      for (const int64_t n_tokens : {int64_t{1}, int64_t{5}, kMostStreamed + 2}) {
        const LinearCase c = random_case(17, 768, n_tokens, blocks, activations);
        for (const bool fast : {false, true}) {
          EXPECT_TRUE(same_bits(c.product(table(), fast), c.product(kDefinition, fast)))
              << to_string(blocks) << (fast ? ", fast, " : ", exact, ") << n_tokens << " tokens";
        }
      }
    }
  }
}

TEST_P(EveryProduct, EqualsTheDefinitionOnAnyRangeOfRows) {
  const LinearCase c = random_case(71, 256, 3, BlockKind::kOrdinary, ActivationKind::kOrdinary);
  const int64_t ranges[][2] = {{0, 1},   {0, 7},   {1, 8},   {3, 4},   {5, 22},  {7, 71}, {8, 16},  {15, 33},
                               {16, 48}, {63, 71}, {70, 71}, {40, 40}, {0, 71},  {0, 33}, {16, 17}, {16, 71},
                               {32, 50}, {48, 63}, {64, 71}, {64, 65}, {48, 48}, {0, 64}};
  for (const auto& [begin, end] : ranges) {
    if (table().packed && begin % kRowsPerGroup != 0) continue;
    for (const bool add : {false, true}) {
      for (const bool fast : {false, true}) {
        EXPECT_TRUE(same_bits(c.product(table(), fast, begin, end, add), c.product(kDefinition, fast, begin, end, add)))
            << begin << ".." << end << (add ? " added" : "") << (fast ? " fast" : " exact");
      }
    }
  }
}

TEST_P(EveryProduct, EqualsTheDefinitionOverSeveralPanels) {
  const LinearCase c = random_case(71, 256, kMostStreamed + 3, BlockKind::kOrdinary, ActivationKind::kOrdinary);
  const int64_t ranges[][2] = {{0, 71}, {16, 71}, {48, 63}};
  for (const auto& [begin, end] : ranges) {
    for (const bool fast : {false, true}) {
      EXPECT_TRUE(same_bits(c.product(table(), fast, begin, end, true), c.product(kDefinition, fast, begin, end, true)))
          << begin << ".." << end << (fast ? " fast" : " exact");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, EveryProduct,
                         testing::Combine(testing::ValuesIn(available_tables().begin(), available_tables().end()),
                                          testing::ValuesIn(forge::supported_types())),
                         [](const auto& parameter) {
                           return table_name(*std::get<0>(parameter.param)) + "_" +
                                  std::string(quant::to_string(std::get<1>(parameter.param)));
                         });

TEST(AvailableTables, EndWithTheScalarDefinitionAndHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const KernelTable* table : available_tables()) EXPECT_TRUE(names.insert(table->isa).second) << table->isa;
  EXPECT_STREQ(available_tables().back()->isa, "scalar");
  EXPECT_EQ(&select_table("auto"), available_tables().front());
  for (const KernelTable* table : available_tables()) EXPECT_EQ(&select_table(table->isa), table);
}

TEST(AvailableTables, AreListedWhenAnotherIsAskedFor) {
  try {
    (void)select_table("avx1024");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
    EXPECT_NE(std::string(error.what()).find("avx1024"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("scalar"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lockstep::kernels
