#include "number_text.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "usage.h"

namespace lockstep {
namespace {

// The message of the Error that `call` throws; empty when it throws none.
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
    return error.what();
  }
  return "";
}

TEST(NumberText, WholeNumbersAreReadWhole) {
  EXPECT_EQ(parse_integer("n", "-1", {-1, 5}), -1);
  EXPECT_EQ(parse_integer("n", "+5", {-1, 5}), 5);
  EXPECT_EQ(parse_integer("n", "9223372036854775807", {}), std::numeric_limits<int64_t>::max());
  for (const char* text : {"", " 1", "1 ", "1x", "abc", "1.5", "0x10", "+-1", "+", "--1"}) {
    const std::string message = message_of([&] { static_cast<void>(parse_integer("n", text, {})); });
    EXPECT_NE(message.find("option n: "), std::string::npos) << text;
    EXPECT_NE(message.find("whole number"), std::string::npos) << text;
  }
}

TEST(NumberText, RangesAreNamed) {
  EXPECT_EQ(message_of([] {
              static_cast<void>(parse_integer("n", "6", {-1, 5}));
            }),
            "option n: 6 is out of range, expected -1 to 5");
  EXPECT_EQ(message_of([] {
              static_cast<void>(parse_integer("n", "99999999999999999999", {-1, 5}));
            }),
            "option n: 99999999999999999999 is out of range, expected -1 to 5");
}

TEST(NumberText, SeedsAreAnySixtyFourBits) {
  EXPECT_EQ(parse_seed("seed", "18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(parse_seed("seed", "0"), 0u);
  EXPECT_FALSE(parse_seed("seed", "-1").has_value());
  for (const char* text : {"-2", "18446744073709551616", "", "1.0"})
    EXPECT_THROW(static_cast<void>(parse_seed("seed", text)), Error) << text;
}

TEST(NumberText, FloatsOutOfRangeAreRefused) {
  EXPECT_EQ(parse_float("temp", "1e-30"), 1e-30f);
  EXPECT_EQ(parse_float("temp", "-0.5"), -0.5f);
  for (const char* text : {"", "warm", "1e39", "1e999", "0.5x"})
    EXPECT_THROW(static_cast<void>(parse_float("temp", text)), Error) << text;
}

TEST(NumberText, IdsAreSeparatedByCommas) {
  EXPECT_EQ(parse_ids("ids", "1,2,2147483647"), (std::vector<int32_t>{1, 2, 2147483647}));
  for (const char* text : {"", "1,", ",1", "1,,2", "-1", "2147483648", "1 2"}) {
    EXPECT_THROW(static_cast<void>(parse_ids("ids", text)), Error) << text;
  }
}

TEST(Usage, SpellsTheOptionAsOnTheCommandLine) {
  EXPECT_EQ(spelled_as_flag("option n_predict: a_b"), "option --n-predict: a_b");
  EXPECT_EQ(spelled_as_flag("option logit_bias, entry x_y: z"), "option --logit-bias, entry x_y: z");
  EXPECT_EQ(spelled_as_flag("something else"), "something else");
}

TEST(Usage, TurnsBadRequestsAndNothingElseIntoUsage) {
  const auto code_of = [](ErrorCode code) {
    try {
      as_usage([&] { fail(code, "option x: bad"); });
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kIo;
  };
  EXPECT_EQ(code_of(ErrorCode::kBadRequest), ErrorCode::kUsage);
  EXPECT_EQ(code_of(ErrorCode::kNotFound), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace lockstep
