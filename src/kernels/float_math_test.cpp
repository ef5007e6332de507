// The scalar definitions of norm, activation, rotation and attention against double precision.
#include "kernels/oracle/float_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "forge/attention_case.h"
#include "forge/linear_case.h"
#include "kernels/oracle/oracle_table.h"

namespace lockstep::kernels {
namespace {

constexpr KernelTable kOracle = oracle_table("oracle");

// kExpError is the bound that float_math.h states.
constexpr double kExpError = 2e-7;

double relative_error(float got, double wanted) {
  return std::fabs(static_cast<double>(got) / wanted - 1.0);
}

TEST(ExpF32, StaysWithinItsBoundForEveryExponentOfTheArgument) {
  double worst = 0;
  for (const uint32_t sign : {0u, 0x80000000u}) {
    // Every 977th float from the smallest denormal to 88: some 1.1 million of each sign, in every binade.
    for (uint32_t magnitude = 0; magnitude <= std::bit_cast<uint32_t>(88.0f); magnitude += 977) {
      const float x = std::bit_cast<float>(sign | magnitude);
      if (x < -87.3f) break;
      worst = std::max(worst, relative_error(exp_f32(x), std::exp(static_cast<double>(x))));
    }
  }
  EXPECT_LT(worst, kExpError);
}

TEST(ExpF32, StaysWithinItsBoundAtEveryStepOfTheReduction) {
  double worst = 0;
  for (int i = 0; i < 3000000; ++i) {
    const float x = -87.3f + static_cast<float>(i) * (175.3f / 3000000.0f);
    worst = std::max(worst, relative_error(exp_f32(x), std::exp(static_cast<double>(x))));
  }
  EXPECT_LT(worst, kExpError);
}

TEST(ExpF32, EndsInZeroAndInTheValueAt88) {
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-0.0f), 1.0f);
  for (const float x : {-87.31f, -88.0f, -1000.0f, -1e9f, -3e38f, -std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(x)), 0u) << x;
  }
  for (const float x : {88.0f, 89.0f, 1e9f, 3e38f, std::numeric_limits<float>::infinity()})
    EXPECT_EQ(exp_f32(x), exp_f32(88.0f)) << x;
  EXPECT_TRUE(std::isfinite(exp_f32(88.0f)));
  EXPECT_TRUE(std::isnormal(exp_f32(-87.3f)));
}

TEST(RoundEven, TakesTiesToTheEvenNumber) {
  for (int i = -200; i <= 200; ++i) {
    EXPECT_EQ(round_even(static_cast<float>(i) + 0.5f), std::nearbyint(static_cast<float>(i) + 0.5f));
    EXPECT_EQ(round_even(static_cast<float>(i)), static_cast<float>(i));
  }
}

TEST(Quantize, KeepsWithinHalfAStepNeverReachesMinus128AndSumsSixteens) {
  forge::RandomData random(1);
  for (const auto kind :
       {forge::ActivationKind::kOrdinary, forge::ActivationKind::kAllMax, forge::ActivationKind::kWide}) {
    forge::ActivationRows rows = forge::random_activations(4096, 2, kind, random);
    ASSERT_TRUE(rows.quantize(kOracle));
    for (int64_t i = 0; i < 2 * 4096; ++i) {
      const auto k = static_cast<size_t>(i);
      const double scale = static_cast<double>(rows.scale[k / 32]);
      EXPECT_GE(rows.q[k], -127);
      EXPECT_LE(std::fabs(rows.q[k] * scale - static_cast<double>(rows.x[k])), 0.5001 * scale);
    }
    for (size_t g = 0; g < rows.sum.size(); ++g) {
      int sum = 0;
      for (size_t i = 0; i < 16; ++i) sum += rows.q[g * 16 + i];
      EXPECT_EQ(rows.sum[g], sum);
    }
  }
}

TEST(Quantize, RoundsTiesToEvenAndKeepsTheScaleInFullPrecision) {
  forge::ActivationRows rows(32, 1);
  for (int i = 0; i < 32; ++i) rows.row(0)[i] = static_cast<float>(i) + 0.5f;
  rows.row(0)[31] = -127.0f;
  ASSERT_TRUE(rows.quantize(kOracle));
  EXPECT_EQ(rows.scale[0], 1.0f);
  for (int i = 0; i < 31; ++i) EXPECT_EQ(rows.q[static_cast<size_t>(i)], i % 2 == 0 ? i : i + 1);
  EXPECT_EQ(rows.q[31], -127);
  rows.row(0)[31] = 1000.0f;
  ASSERT_TRUE(rows.quantize(kOracle));
  EXPECT_EQ(rows.scale[0], 1000.0f / 127.0f);
}

TEST(Quantize, CountsAGroupBelowTheSmallestScaleAsZero) {
  for (const float peak : {0.0f, 1e-45f, 1e-38f, 9.9e-31f}) {
    forge::ActivationRows rows(32, 1);
    std::fill_n(rows.row(0), 32, peak);
    EXPECT_TRUE(rows.quantize(kOracle));
    EXPECT_EQ(rows.scale[0], 0.0f);
    EXPECT_EQ(rows.sum[0], 0);
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(rows.q[i], 0);
  }
  forge::ActivationRows rows(32, 1);
  std::fill_n(rows.row(0), 32, 1e-30f);
  EXPECT_TRUE(rows.quantize(kOracle));
  EXPECT_EQ(rows.q[0], 127);
}

TEST(Quantize, FlagsWhatIsNotFiniteAndCountsOnlyItsGroupAsZero) {
  for (const float broken : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()}) {
    for (int place = 32; place < 64; ++place) {
      forge::ActivationRows rows(96, 1);
      std::fill_n(rows.row(0), 96, 1.0f);
      rows.row(0)[place] = broken;
      EXPECT_FALSE(rows.quantize(kOracle)) << broken << " at " << place;
      for (size_t i = 0; i < 96; ++i) EXPECT_EQ(rows.q[i], i / 32 == 1 ? 0 : 127);
      EXPECT_EQ(rows.scale[1], 0.0f);
      EXPECT_EQ(rows.sum[2] + rows.sum[3], 0);
    }
  }
}

TEST(RmsNorm, AgreesWithDoublePrecision) {
  forge::RandomData random(2);
  for (const int64_t n : {1, 2, 63, 64, 65, 576, 2048, 4096, 8191}) {
    for (const float size : {1e-6f, 1.0f, 1e6f}) {
      const std::vector<float> x = random.normals(n, size);
      const std::vector<float> weight = random.normals(n, 0.1f, 1.0f);
      std::vector<float> out(x.size());
      kOracle.rms_norm(x.data(), weight.data(), n, 1e-5f, out.data());
      double sum = 0;
      for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
      // Inside the root: with x of 1e-6 the eps decides.
      const double root = std::sqrt(sum / static_cast<double>(n) + static_cast<double>(1e-5f));
      for (size_t i = 0; i < x.size(); ++i) {
        const double wanted = static_cast<double>(x[i]) / root * static_cast<double>(weight[i]);
        ASSERT_LE(std::fabs(static_cast<double>(out[i]) - wanted), 1e-6 * std::fabs(wanted)) << n << ' ' << size;
      }
    }
  }
}

TEST(Swiglu, AgreesWithDoublePrecision) {
  forge::RandomData random(3);
  const std::vector<float> gate = random.normals(5000, 10.0f);
  const std::vector<float> up = random.normals(5000);
  std::vector<float> out(gate.size());
  kOracle.swiglu(gate.data(), up.data(), 5000, out.data());
  for (size_t i = 0; i < gate.size(); ++i) {
    const double g = static_cast<double>(gate[i]);
    const double wanted = g / (1.0 + std::exp(-g)) * static_cast<double>(up[i]);
    EXPECT_LE(std::fabs(static_cast<double>(out[i]) - wanted), 5e-7 * std::fabs(wanted)) << gate[i];
  }
}

TEST(Tanh, AgreesWithDoublePrecision) {
  for (double x = 1e-6; x < 30; x *= 1.001) {
    for (const float at : {static_cast<float>(x), static_cast<float>(-x)}) {
      const double wanted = std::tanh(static_cast<double>(at));
      ASSERT_LE(std::fabs(static_cast<double>(tanh_f32(at)) - wanted), 4e-7 * std::fabs(wanted)) << at;
    }
  }
  EXPECT_EQ(tanh_f32(0.0f), 0.0f);
  EXPECT_EQ(tanh_f32(1e30f), 1.0f);
  EXPECT_EQ(tanh_f32(-1e30f), -1.0f);
  EXPECT_TRUE(std::isnan(tanh_f32(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Gelu, IsThatOfAHalfPrecisionTable) {
  for (float x = -12.0f; x < 12.0f; x += 0.0013f) {
    const double h = static_cast<double>(std::fabs(x) < 10.0f ? f16_to_f32(f32_to_f16(x)) : x);
    const double wanted = 0.5 * h * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * h * (1 + 0.044715 * h * h)));
    ASSERT_LE(std::fabs(static_cast<double>(gelu(x)) - wanted), 4.9e-4 * std::fabs(wanted) + 1e-6) << x;
    if (std::fabs(x) < 10.0f) {
      ASSERT_EQ(gelu(x), f16_to_f32(f32_to_f16(gelu(x)))) << x;
    }
  }
  EXPECT_EQ(gelu(11.1f), 11.1f);
  EXPECT_EQ(gelu(-11.1f), 0.0f);
}

std::vector<float> angles(double position, int64_t n_rot) {
  std::vector<float> cos_sin;
  for (int64_t i = 0; i < n_rot / 2; ++i) {
    const double angle = position * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(n_rot));
    cos_sin.push_back(static_cast<float>(std::cos(angle)));
    cos_sin.push_back(static_cast<float>(std::sin(angle)));
  }
  return cos_sin;
}

std::vector<float> rotated(std::vector<float> head, double position, int64_t n_rot, RopePairing pairing) {
  kOracle.rope(head.data(), angles(position, n_rot).data(), n_rot, pairing);
  return head;
}

double dot_of(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

class Rope : public testing::TestWithParam<RopePairing> {};

TEST_P(Rope, IsTheIdentityAtPositionZeroAndLeavesElementsPastTheRotatedOnes) {
  forge::RandomData random(4);
  const std::vector<float> head = random.normals(64);
  EXPECT_EQ(rotated(head, 0, 64, GetParam()), head);
  const std::vector<float> partly = rotated(head, 7, 32, GetParam());
  EXPECT_TRUE(std::equal(partly.begin() + 32, partly.end(), head.begin() + 32));
  EXPECT_FALSE(std::equal(partly.begin(), partly.begin() + 32, head.begin()));
}

TEST_P(Rope, KeepsLengths) {
  forge::RandomData random(5);
  for (const double position : {1.0, 17.0, 1000.0, 100000.0}) {
    const std::vector<float> head = random.normals(128);
    const std::vector<float> turned = rotated(head, position, 128, GetParam());
    EXPECT_NE(turned, head);
    EXPECT_NEAR(dot_of(turned, turned) / dot_of(head, head), 1.0, 1e-6);
  }
}

TEST_P(Rope, MakesScoresDependOnTheDistanceAlone) {
  forge::RandomData random(6);
  const std::vector<float> q = random.normals(64);
  const std::vector<float> k = random.normals(64);
  const double wanted = dot_of(rotated(q, 5, 64, GetParam()), rotated(k, 2, 64, GetParam()));
  EXPECT_GT(std::fabs(wanted - dot_of(rotated(q, 6, 64, GetParam()), rotated(k, 2, 64, GetParam()))), 1e-3);
  for (const double shift : {1.0, 100.0, 3000.0}) {
    EXPECT_NEAR(dot_of(rotated(q, 5 + shift, 64, GetParam()), rotated(k, 2 + shift, 64, GetParam())), wanted, 2e-5)
        << shift;
  }
}

TEST_P(Rope, TurnsThePairsOfItsLayout) {
  std::vector<float> head(8, 0.0f);
  head[0] = 1.0f;
  const std::vector<float> turned = rotated(head, 1.0, 8, GetParam());
  EXPECT_NEAR(turned[0], std::cos(1.0), 1e-7);
  EXPECT_NEAR(turned[GetParam() == RopePairing::kAdjacent ? 1 : 4], std::sin(1.0), 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Pairings, Rope, testing::Values(RopePairing::kAdjacent, RopePairing::kHalves),
                         [](const auto& parameter) {
                           return parameter.param == RopePairing::kAdjacent ? "adjacent" : "halves";
                         });

// softmax(q k^T * scale) v in double precision, with keys and values as the cache rounds them.
std::vector<double> attention_in_double(const forge::AttentionCase& c, int64_t group) {
  const auto stored = [&](float x) {
    return static_cast<double>(c.type == CacheType::kF16 ? f16_to_f32(f32_to_f16(x)) : x);
  };
  std::vector<double> weights;
  double max = -1e300;
  for (int64_t p = 0; p < c.n_positions; ++p) {
    double score = 0;
    for (int64_t d = 0; d < c.head_dim; ++d) {
      score += static_cast<double>(c.q[static_cast<size_t>(group * c.head_dim + d)]) *
               stored(c.keys[static_cast<size_t>(p * c.head_dim + d)]);
    }
    weights.push_back(score * static_cast<double>(c.scale));
    max = std::max(max, weights.back());
  }
  std::vector<double> out(static_cast<size_t>(c.head_dim));
  double total = 0;
  for (int64_t p = 0; p < c.n_positions; ++p) {
    const double weight = std::exp(weights[static_cast<size_t>(p)] - max);
    total += weight;
    for (int64_t d = 0; d < c.head_dim; ++d)
      out[static_cast<size_t>(d)] += weight * stored(c.values[static_cast<size_t>(p * c.head_dim + d)]);
  }
  for (double& o : out) o /= total;
  return out;
}

// Positions [first, first + n) of a longer case as a chunk of its own.
forge::AttentionCase part_of(const forge::AttentionCase& whole, int64_t first) {
  forge::AttentionCase part = whole;
  part.n_positions = std::min(kChunk, whole.n_positions - first);
  const auto slice = [&](const std::vector<float>& rows) {
    const auto begin = rows.begin() + first * whole.head_dim;
    return std::vector<float>(begin, begin + part.n_positions * whole.head_dim);
  };
  part.keys = slice(whole.keys);
  part.values = slice(whole.values);
  return part;
}

// All chunks of a case, merged in order and divided.
std::vector<float> attention_in_chunks(const forge::AttentionCase& whole) {
  std::vector<AttentionPartial> total;
  std::vector<float> acc;
  for (int64_t first = 0; first < whole.n_positions; first += kChunk) {
    const forge::AttentionResult part = part_of(whole, first).run(kOracle);
    if (first == 0) acc = part.o;
    for (int64_t g = 0; g < whole.n_group; ++g) {
      const auto i = static_cast<size_t>(2 * g);
      const AttentionPartial p = {part.max_and_sum[i], part.max_and_sum[i + 1]};
      if (first == 0) {
        total.push_back(p);
      } else {
        const int64_t at = g * whole.head_dim;
        kOracle.merge_chunk(total[static_cast<size_t>(g)], acc.data() + at, p, part.o.data() + at, whole.head_dim);
      }
    }
  }
  for (int64_t g = 0; g < whole.n_group; ++g) {
    kOracle.finish_attention(total[static_cast<size_t>(g)], acc.data() + g * whole.head_dim, whole.head_dim);
  }
  return acc;
}

TEST(Attention, AgreesWithASoftmaxInDoublePrecisionOverAnyNumberOfChunks) {
  for (const auto type : {CacheType::kF16, CacheType::kF32}) {
    for (const int64_t head_dim : {32, 64, 80, 128}) {
      for (const int64_t n_positions : {1, 2, 16, 127, 128, 129, 300, 1000}) {
        forge::RandomData random(static_cast<uint64_t>(head_dim + n_positions));
        const forge::AttentionCase c = forge::random_attention(type, head_dim, n_positions, 3, random);
        const std::vector<float> got = attention_in_chunks(c);
        if (n_positions > 1) forge::expect_varied<float>(got, 0.99);
        for (int64_t g = 0; g < c.n_group; ++g) {
          const std::vector<double> wanted = attention_in_double(c, g);
          for (int64_t d = 0; d < head_dim; ++d) {
            ASSERT_NEAR(static_cast<double>(got[static_cast<size_t>(g * head_dim + d)]), wanted[static_cast<size_t>(d)],
                        1e-5)
                << head_dim << ' ' << n_positions;
          }
        }
      }
    }
  }
}

TEST(Attention, SurvivesScoresThatWouldOverflowWithoutTheMaximum) {
  forge::RandomData random(9);
  forge::AttentionCase c = forge::random_attention(CacheType::kF32, 64, 200, 2, random);
  for (float& q : c.q) q *= 1000.0f;
  const std::vector<float> got = attention_in_chunks(c);
  for (int64_t g = 0; g < 2; ++g) {
    const std::vector<double> wanted = attention_in_double(c, g);
    for (int64_t d = 0; d < 64; ++d) {
      EXPECT_NEAR(static_cast<double>(got[static_cast<size_t>(g * 64 + d)]), wanted[static_cast<size_t>(d)], 1e-2) << d;
    }
  }
}

}  // namespace
}  // namespace lockstep::kernels
