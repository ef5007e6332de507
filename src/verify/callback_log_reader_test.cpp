#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "verify/reference.h"

namespace lockstep::verify {
namespace {

// 7 x 2 elements: of a row three from each end, all rows.
const std::string kLog = R"(llama_model_loader: something before
common_debug_cb_eval:                   norm-0 = (f32)   RMS_NORM(embd{7, 2, 1, 1}, }) = {7, 2, 1, 1}
    [
        [
            [      0.1000,      -0.2000,       0.3000,    ...,       0.5000,       0.6000,       0.7000  ],
            [      1.1000,       1.2000,       1.3000,    ...,       1.5000,       1.6000,       1.7000  ],
        ],
    ]
    sum = 9.250000
common_debug_cb_eval:                    b = (f32)        MUL(a{2, 1, 1, 1}, }) = {2, 1, 1, 1}
    [
        [
            [      0.25,       1.5  ],
        ],
    ]
    sum = 1.75
llama_perf_context_print: something after
)";

std::vector<ReferenceEntry> entries(const std::string& text) {
  return parse_callback_log(text, "file").entries;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kLog;
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CallbackLogReader, ReadsNamesShapesValuesAndSums) {
  const std::vector<ReferenceEntry> read = entries(kLog);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].unreadable, "");
  EXPECT_EQ(read[0].name, "norm-0");
  EXPECT_EQ(read[0].op, "RMS_NORM");
  EXPECT_EQ(read[0].ne, (std::array<int64_t, 4>{7, 2, 1, 1}));
  EXPECT_EQ(read[0].sum, 9.25);
  EXPECT_EQ(read[0].line, 2);
  std::vector<int64_t> indices;
  for (const ListedValue& value : read[0].values) indices.push_back(value.index);
  EXPECT_EQ(indices, (std::vector<int64_t>{0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 12, 13}));
  EXPECT_EQ(read[0].values[1].value, -0.2);
  EXPECT_DOUBLE_EQ(read[0].values[1].half_digit, 0.00005);
  EXPECT_EQ(read[1].unreadable, "");
  ASSERT_EQ(read[1].values.size(), 2u);
  EXPECT_DOUBLE_EQ(read[1].values[0].half_digit, 0.005);
}

TEST(CallbackLogReader, ReadsRowsThatWereLeftOut) {
  std::string text = "ggml_debug: c = (f32) MUL(a{1, 9, 8, 1}, }) = {1, 9, 8, 1}\n[\n";
  std::vector<int64_t> wanted;
  for (const int64_t plane : {0, 1, 2, 5, 6, 7}) {
    if (plane == 5) text += "        ..., \n";
    text += "        [\n";
    for (const int64_t row : {0, 1, 2, 6, 7, 8}) {
      if (row == 6) text += "            ..., \n";
      text += "            [ " + std::to_string(plane * 9 + row) + ".0 ],\n";
      wanted.push_back(plane * 9 + row);
    }
    text += "        ],\n";
  }
  text += "    ]\n    sum = 1\n";
  const std::vector<ReferenceEntry> read = entries(text);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].unreadable, "");
  ASSERT_EQ(read[0].values.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(read[0].values[i].index, wanted[i]);
    EXPECT_EQ(read[0].values[i].value, static_cast<double>(wanted[i]));
  }
}

TEST(CallbackLogReader, KeepsThePlaceOfWhatItCannotReadAndSaysWhy) {
  for (const auto& [from, to, why] : std::vector<std::array<std::string, 3>>{
           {"9.250000", "nan", "sum"},
           {"9.250000", "9.25 x", "sum"},
           {"9.250000", "1e999", "sum"},
           {"    sum = 9.250000\n", "", "before its sum"},
           {"1.2000", "-nan", "nan"},
           {"1.2000", "inf", "inf"},
           {"1.2000", "one", "one"},
           {"1.2000, ", "", "..."},
           {"1.2000, ", "1.2000, 1.2000, ", "..."},
           {"...,", "", "values"},
           {"1.7000  ],", "1.7000, 1.8000  ],", "values"},
           {",       1.7000  ],", "  ],", "values"},
           {"1.7000  ],", "1.7000", "cut"},
           {"            [      1.1000", "            what\n            [      1.1000", "neither"},
           {"{7, 2, 1, 1}\n", "{7, 2, 1}\n", "shape"},
           {"{7, 2, 1, 1}\n", "{7, 2, 1, 1, 1}\n", "shape"},
           {"{7, 2, 1, 1}\n", "{7, 0, 1, 1}\n", "shape"},
           {"{7, 2, 1, 1}\n", "{7, 3, 1, 1}\n", "rows"},
           {"{7, 2, 1, 1}\n", "{7, 1, 1, 1}\n", "rows"},
           {"{7, 2, 1, 1}\n", "{99999999999999999999, 2, 1, 1}\n", "shape"},
           {"{7, 2, 1, 1}\n", "{9223372036854775807, 9223372036854775807, 1, 1}\n", "shape"},
           {"RMS_NORM(embd{7, 2, 1, 1}, }) = ", "", "operation"},
       }) {
    const std::vector<ReferenceEntry> read = entries(with(from, to));
    ASSERT_EQ(read.size(), 2u) << from;
    EXPECT_NE(read[0].unreadable.find(why), std::string::npos) << from << " -> " << to << ": " << read[0].unreadable;
    EXPECT_EQ(read[1].unreadable, "") << from;
  }
}

TEST(CallbackLogReader, EveryBeginningOfALogIsReadOrSaysThatItIsCut) {
  for (size_t n = kLog.find("common"); n < kLog.find("llama_perf") - 1; ++n) {
    const std::string text = kLog.substr(0, n);
    if (text.find("cb_eval:") == text.npos || text.find(" = (") == text.npos) continue;
    if (text.find('\n', text.find("cb_eval:")) == text.npos) continue;  // not one whole line of an entry
    const std::vector<ReferenceEntry> read = entries(text);
    const size_t n_sums = (text.find("9.250000\n") != text.npos) + (text.find("1.75\n") != text.npos);
    const bool complete = read.back().unreadable.empty();
    EXPECT_EQ(complete, n_sums == read.size()) << text;
  }
}

TEST(CallbackLogReader, RefusesOtherTexts) {
  EXPECT_THROW(static_cast<void>(entries("")), Error);
  EXPECT_THROW(static_cast<void>(entries("hello\n[ 1, 2 ]\nsum = 3\n")), Error);
}

}  // namespace
}  // namespace lockstep::verify
