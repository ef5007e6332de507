// The scalar products against the definition of NUMERICS.md, written down once more in plain loops (equal bit for bit),
// and against double precision (within the error bound of the chain).
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "forge/linear_case.h"
#include "kernels/select.h"
#include "quant/dequantize.h"

namespace lockstep::kernels {
namespace {

using forge::ActivationKind;
using forge::BlockKind;
using forge::LinearCase;
using quant::TensorType;

// One row in the one form; a float format has blocks of one element with scale 1.
struct FormRow {
  std::vector<float> weight;  // dequantized
  std::vector<int> q;         // empty for float formats
  std::vector<float> ws, wm;  // per group
  int64_t group = 0;
};

template <TensorType type>
void unpack_row(const std::byte* data, int64_t n, FormRow& row) {
  using Form = quant::Form<type>;
  row.group = Form::kGroup;
  const auto* blocks = reinterpret_cast<const typename Form::Block*>(data);
  for (int64_t b = 0; b < n / Form::kBlock; ++b) {
    quant::Unpacked block;
    quant::unpack<type>(blocks[b], block);
    row.q.insert(row.q.end(), block.q, block.q + Form::kBlock);
    row.ws.insert(row.ws.end(), block.ws, block.ws + Form::kGroups);
    if (Form::kHasMin) row.wm.insert(row.wm.end(), block.wm, block.wm + Form::kGroups);
  }
}

FormRow form_row(const LinearCase& c, int64_t r) {
  FormRow row;
  const std::byte* data = c.weights.data() + static_cast<uint64_t>(r) * c.row_bytes();
  row.weight.resize(static_cast<size_t>(c.n_cols));
  quant::dequantize_row(c.type, data, static_cast<uint64_t>(c.n_cols), row.weight.data());
  quant::visit_form(c.type, [&](auto tag) { unpack_row<tag.type>(data, c.n_cols, row); });
  return row;
}

float exact_definition(const FormRow& row, const float* x) {
  float acc = 0.0f;
  for (size_t k = 0; k < row.weight.size(); k += 256) {
    float p = 0.0f;
    for (size_t i = k; i < std::min(k + 256, row.weight.size()); ++i) p = std::fma(row.weight[i], x[i], p);
    acc += p;
  }
  return acc;
}

float fast_definition(const FormRow& row, const int8_t* q, const float* scale) {
  float acc = 0.0f;
  for (size_t b = 0; b < row.ws.size(); ++b) {
    const size_t first = b * static_cast<size_t>(row.group);
    int isum = 0;
    int sum = 0;
    for (size_t i = first; i < first + static_cast<size_t>(row.group); ++i) {
      isum += row.q[i] * q[i];
      sum += q[i];
    }
    const float as = scale[first / 32];
    const float w = row.ws[b] * as;
    acc = std::fma(static_cast<float>(isum), w, acc);
    if (row.wm.empty()) continue;
    const float s = as * static_cast<float>(sum);
    acc = std::fma(row.wm[b], s, acc);
  }
  return acc;
}

struct DoubleResult {
  double value = 0;
  double magnitude = 0;  // sum of the magnitudes of all products
};

DoubleResult exact_double(const FormRow& row, const float* x) {
  DoubleResult result;
  for (size_t i = 0; i < row.weight.size(); ++i) {
    const double product = static_cast<double>(row.weight[i]) * static_cast<double>(x[i]);
    result.value += product;
    result.magnitude += std::fabs(product);
  }
  return result;
}

DoubleResult fast_double(const FormRow& row, const int8_t* q, const float* scale) {
  DoubleResult result;
  for (size_t i = 0; i < row.q.size(); ++i) {
    const size_t b = i / static_cast<size_t>(row.group);
    const double x = static_cast<double>(q[i]) * static_cast<double>(scale[i / 32]);
    const double low = row.wm.empty() ? 0.0 : static_cast<double>(row.wm[b]);
    const double scaled = static_cast<double>(row.ws[b]) * row.q[i];
    result.value += (scaled + low) * x;
    result.magnitude += (std::fabs(scaled) + std::fabs(low)) * std::fabs(x);
  }
  return result;
}

// Roundings that a term passes through: its place in a chain (Higham, "Accuracy and stability", lemma 3.1), and two
// products.
double roundings(const FormRow& row, bool fast) {
  const auto n = static_cast<double>(row.weight.size());
  if (!fast) return std::min(n, 256.0) + std::ceil(n / 256.0);
  return static_cast<double>(row.ws.size() + row.wm.size()) + 2.0;
}

void expect_near_double(float got, const DoubleResult& wanted, double n_roundings) {
  // A product of two scales may fall among the denormal numbers, and its rounding is then multiplied by an integer
  // below 2^20.
  const double underflow = n_roundings * 0x1p-149 * 0x1p20;
  const double bound = 1.01 * n_roundings * 0x1p-24 * wanted.magnitude + underflow;
  EXPECT_LE(std::fabs(static_cast<double>(got) - wanted.value), bound) << got << " for " << wanted.value;
}

LinearCase make_case(TensorType type, int64_t n_cols, BlockKind kind) {
  constexpr int64_t kRows = 11;
  constexpr int64_t kTokens = 3;
  forge::RandomData random(static_cast<uint64_t>(n_cols) * 64 + static_cast<uint64_t>(type));
  LinearCase c = {type, kRows, n_cols, forge::random_weights(type, kRows * n_cols, kind, random),
                  forge::random_activations(n_cols, kTokens, ActivationKind::kOrdinary, random)};
  EXPECT_TRUE(c.a.quantize(select_table("scalar")));
  return c;
}

std::vector<int64_t> widths(TensorType type) {
  std::vector<int64_t> fitting;
  for (const int64_t n : {32, 64, 256, 4096, 4096 + 32, 4096 + 256}) {
    if (n % quant::format_info(type).block_size == 0) fitting.push_back(n);
  }
  return fitting;
}

class LinearOracle : public testing::TestWithParam<TensorType> {};

TEST_P(LinearOracle, IsTheDefinitionOfExactBitForBitAndCloseToDoublePrecision) {
  for (const int64_t n_cols : widths(GetParam())) {
    for (const BlockKind kind : forge::kBlockKinds) {
      const LinearCase c = make_case(GetParam(), n_cols, kind);
      const std::vector<float> out = c.product(select_table("scalar"), false);
      for (int64_t r = 0; r < c.n_rows; ++r) {
        const FormRow row = form_row(c, r);
        for (int64_t t = 0; t < c.a.n_tokens; ++t) {
          const float got = out[static_cast<size_t>(t * c.n_rows + r)];
          const float* x = c.a.x.data() + t * c.a.stride;
          ASSERT_EQ(got, exact_definition(row, x))
              << n_cols << ' ' << to_string(kind) << " row " << r << " token " << t;
          expect_near_double(got, exact_double(row, x), roundings(row, false));
        }
      }
    }
  }
}

TEST_P(LinearOracle, IsTheDefinitionOfFastBitForBitAndCloseToDoublePrecision) {
  const bool is_float = quant::format_info(GetParam()).block_size == 1;
  for (const int64_t n_cols : widths(GetParam())) {
    for (const BlockKind kind : forge::kBlockKinds) {
      const LinearCase c = make_case(GetParam(), n_cols, kind);
      const std::vector<float> out = c.product(select_table("scalar"), true);
      if (is_float) {
        EXPECT_EQ(out, c.product(select_table("scalar"), false)) << "float formats are the same in both modes";
        continue;
      }
      for (int64_t r = 0; r < c.n_rows; ++r) {
        const FormRow row = form_row(c, r);
        for (int64_t t = 0; t < c.a.n_tokens; ++t) {
          const float got = out[static_cast<size_t>(t * c.n_rows + r)];
          const int8_t* q = c.a.q.data() + t * c.a.stride;
          const float* scale = c.a.scale.data() + t * c.a.stride / 32;
          ASSERT_EQ(got, fast_definition(row, q, scale))
              << n_cols << ' ' << to_string(kind) << " row " << r << " token " << t;
          expect_near_double(got, fast_double(row, q, scale), roundings(row, true));
        }
      }
    }
  }
}

TEST_P(LinearOracle, IsTestedWithScalesThatAllDiffer) {
  const LinearCase c = make_case(GetParam(), widths(GetParam()).back(), BlockKind::kOrdinary);
  std::vector<float> scales;
  for (int64_t r = 0; r < c.n_rows; ++r) {
    const FormRow row = form_row(c, r);
    const std::vector<float>& varied = row.ws.empty() ? row.weight : row.ws;
    scales.insert(scales.end(), varied.begin(), varied.end());
  }
  // A super-block's small scales and the mantissa of BF16 are a few bits, so some repeat; the ternary types have one
  // scale for eight groups, and MXFP4 only ten powers of two here.
  const bool few = GetParam() == TensorType::kMXFP4;
  const bool ternary = GetParam() == TensorType::kTQ1_0 || GetParam() == TensorType::kTQ2_0;
  forge::expect_varied<float>(scales, few ? 0.005 : GetParam() == TensorType::kBF16 ? 0.04 : ternary ? 0.1 : 0.2);
  forge::expect_varied<float>(c.product(select_table("scalar"), true), 0.99);
}

TEST_P(LinearOracle, AddsOnlyWhenAskedAndTouchesOnlyItsRows) {
  const LinearCase c = make_case(GetParam(), 256, BlockKind::kOrdinary);
  const KernelTable& table = select_table("scalar");
  for (const bool fast : {false, true}) {
    const std::vector<float> whole = c.product(table, fast);
    const std::vector<float> added = c.product(table, fast, 2, 9, true, 0.375f);
    const std::vector<float> nothing = c.product(table, fast, 5, 5);
    for (int64_t t = 0; t < c.a.n_tokens; ++t) {
      for (int64_t r = 0; r < c.n_rows; ++r) {
        const auto i = static_cast<size_t>(t * c.n_rows + r);
        EXPECT_EQ(added[i], r >= 2 && r < 9 ? 0.375f + whole[i] : 0.375f);
        EXPECT_EQ(nothing[i], 0.375f);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LinearOracle, testing::ValuesIn(forge::supported_types()), forge::type_name);

TEST(KernelTable, HasBothProductsOfEverySupportedTypeAndNoOther) {
  for (const KernelTable* table : available_tables()) {
    for (uint32_t number = 0; number < 48; ++number) {
      const quant::FormatInfo* format = quant::find_format(number);
      const bool supported = format != nullptr && format->supported;
      EXPECT_EQ(table->fast[number] != nullptr, supported) << table->isa << ' ' << number;
      EXPECT_EQ(table->exact[number] != nullptr, supported) << table->isa << ' ' << number;
    }
  }
  EXPECT_EQ(forge::supported_types().size(), 19u);
}

}  // namespace
}  // namespace lockstep::kernels
