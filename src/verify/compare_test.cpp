#include "verify/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep::verify {
namespace {

constexpr double kTolerance = 2e-5;

// A pass of three tensors of eight elements each.
struct Pass {
  std::vector<std::vector<float>> data = {
      {1, -2, 3, -4, 5, 6, 7, 8}, {2, 2, 3, 4, -5, 6, 7, 9}, {3, 1, 4, 1, 5, 9, 2, 6}, {2, 7, 1, 8, 2, 8, 1, 8}};
  std::vector<std::pair<std::string, std::string>> names = {
      {"embd", "GET_ROWS"}, {"norm-0", "RMS_NORM"}, {"norm-0", "RMS_NORM"}, {"result_output", "MUL_MAT"}};

  [[nodiscard]] model::TensorView view(size_t i) const {
    return {names[i].first, names[i].second, i == 1 || i == 2 ? 0 : -1, {4, 2, 1, 1}, data[i].data(), 4, 4};
  }

  // What the pass itself would write down.
  [[nodiscard]] Reference reference() const {
    Reference reference;
    for (size_t i = 0; i < names.size(); ++i) {
      ReferenceEntry entry = {names[i].first, names[i].second, {4, 2, 1, 1}, 0, {}, static_cast<int64_t>(i + 1), ""};
      for (const float value : data[i]) {
        entry.values.push_back({std::ssize(entry.values), value, 0});
        entry.sum += static_cast<double>(value);
      }
      reference.entries.push_back(entry);
    }
    return reference;
  }

  [[nodiscard]] Report compare(const Reference& reference) const {
    Comparison comparison(reference, kTolerance);
    for (size_t i = 0; i < names.size(); ++i) comparison.see(view(i));
    return comparison.finish();
  }
};

TEST(Comparison, PassesWhatIsEqual) {
  const Pass pass;
  const Report report = pass.compare(pass.reference());
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.compared.size(), 4u);
  EXPECT_EQ(report.n_required, 4);
  EXPECT_EQ(report.worst()->rel, 0);
  EXPECT_EQ(report.first_divergent(), nullptr);
}

TEST(Comparison, SaysHowFarASumIsOff) {
  const Pass pass;
  Reference reference = pass.reference();
  reference.entries[1].sum = 30;  // ours: 28; the sum of squares is 224
  reference.entries[1].values.clear();
  const Report report = pass.compare(reference);
  EXPECT_FALSE(report.passed());
  ASSERT_NE(report.first_divergent(), nullptr);
  EXPECT_EQ(report.first_divergent()->name, "norm-0");
  EXPECT_EQ(report.first_divergent()->what, "sum");
  EXPECT_DOUBLE_EQ(report.first_divergent()->rel, 2.0 / 30);
  EXPECT_EQ(report.first_divergent()->ours, 28);
  EXPECT_EQ(report.first_divergent()->theirs, 30);
  reference.entries[1].sum = 0;
  EXPECT_DOUBLE_EQ(pass.compare(reference).first_divergent()->rel, 28 / std::sqrt(224.0));
}

TEST(Comparison, SaysHowFarAValueIsOffAndForgivesUnprintedDigits) {
  const Pass pass;
  Reference reference = pass.reference();
  ListedValue& value = reference.entries[2].values[5];
  const double rms = std::sqrt((9 + 1 + 16 + 1 + 25 + 81 + 4 + 36) / 8.0);
  value.value = 9.04;
  EXPECT_NEAR(pass.compare(reference).first_divergent()->rel, 0.04 / rms, 1e-12);
  EXPECT_EQ(pass.compare(reference).first_divergent()->what, "element 5");
  value.half_digit = 0.05;
  EXPECT_TRUE(pass.compare(reference).passed());
  value.half_digit = 0.03;
  EXPECT_NEAR(pass.compare(reference).first_divergent()->rel, 0.01 / rms, 1e-12);
}

TEST(Comparison, NamesTheFirstThatDivergesInOurOrder) {
  const Pass pass;
  Reference reference = pass.reference();
  reference.entries[3].sum += 1000;
  reference.entries[2].sum += 1;
  const Report report = pass.compare(reference);
  EXPECT_EQ(report.first_divergent()->layer, 0);
  EXPECT_EQ(report.worst()->name, "result_output");
}

TEST(Comparison, MissesNothingInSilence) {
  const Pass pass;
  for (size_t i = 0; i < 4; ++i) {
    Reference reference = pass.reference();
    reference.entries.erase(reference.entries.begin() + static_cast<std::ptrdiff_t>(i));
    const Report report = pass.compare(reference);
    EXPECT_FALSE(report.passed()) << i;
    EXPECT_EQ(report.n_required, 4);
    ASSERT_EQ(report.unmatched.size(), 1u);
    EXPECT_EQ(report.unmatched[0].why, "missing");
  }
  EXPECT_FALSE(pass.compare({}).passed());
  EXPECT_FALSE(Comparison(pass.reference(), kTolerance).finish().passed());
}

TEST(Comparison, ReportsRenamedOtherShapedAndUnreadableEntries) {
  const Pass pass;
  Reference renamed = pass.reference();
  renamed.entries[3].name = "result_outptu";
  Report report = pass.compare(renamed);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.unmatched[0].name, "result_output");
  EXPECT_EQ(report.unknown, std::vector<std::string>{"result_outptu"});

  Reference shaped = pass.reference();
  shaped.entries[0].ne = {8, 1, 1, 1};
  report = pass.compare(shaped);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.unmatched[0].why, "shape");

  Reference spoilt = pass.reference();
  spoilt.entries[0].unreadable = "the sum is no number";
  report = pass.compare(spoilt);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.unmatched[0].why, "the sum is no number");
  EXPECT_EQ(report.compared.size(), 3u);
}

TEST(Comparison, ReportsWhatStandsOutOfOrder) {
  const Pass pass;
  Reference reference = pass.reference();
  std::swap(reference.entries[0], reference.entries[1]);
  Report report = pass.compare(reference);
  EXPECT_FALSE(report.passed());
  ASSERT_EQ(report.unmatched.size(), 1u);
  EXPECT_EQ(report.unmatched[0].why, "order");
  EXPECT_EQ(report.compared.size(), 3u);

  // Two of one name exchanged are in order, but their values are not.
  reference = pass.reference();
  std::swap(reference.entries[1], reference.entries[2]);
  report = pass.compare(reference);
  EXPECT_TRUE(report.unmatched.empty());
  EXPECT_EQ(report.first_divergent()->name, "norm-0");
}

TEST(Comparison, ReportsWhatTheReferenceHasBesides) {
  const Pass pass;
  Reference reference = pass.reference();
  reference.entries.push_back(reference.entries[3]);
  Report report = pass.compare(reference);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.unmatched[0].why, "extra");

  reference = pass.reference();
  ReferenceEntry nameless;
  nameless.unreadable = "no JSON";
  nameless.line = 9;
  reference.entries.push_back(nameless);
  report = pass.compare(reference);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.unmatched[0].name, "line 9");

  reference = pass.reference();
  for (const auto& [name, op] : std::vector<std::pair<std::string, std::string>>{
           {"kq-0", "MUL_MAT"}, {"node_31", "GET_ROWS"}, {"Qcur-0", "RESHAPE"}, {"cache_k_l0 (view)", "SET_ROWS"}}) {
    reference.entries.push_back({name, op, {1, 1, 1, 1}, 0, {}, 9, ""});
  }
  report = pass.compare(reference);
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.unknown.empty());
}

TEST(Comparison, TakesNothingForEqualThatIsNoNumber) {
  Pass pass;
  const Reference reference = pass.reference();
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    pass.data[2][5] = value;
    const Report report = pass.compare(reference);
    EXPECT_FALSE(report.passed());
    ASSERT_NE(report.first_divergent(), nullptr);
    EXPECT_EQ(report.first_divergent()->name, "norm-0");
  }
  Pass zeros;
  for (auto& data : zeros.data) data.assign(8, 0.0f);
  EXPECT_TRUE(zeros.compare(zeros.reference()).passed());
  EXPECT_FALSE(zeros.compare(reference).passed());
}

}  // namespace
}  // namespace lockstep::verify
