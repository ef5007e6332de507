#include "json_text.h"

#include <gtest/gtest.h>

#include <ctime>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"

namespace lockstep {
namespace {

std::string nested(size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(JsonText, DeepNestingIsRefusedAndNotFollowed) {
  EXPECT_NO_THROW(static_cast<void>(parse_json(nested(64))));
  EXPECT_THROW(static_cast<void>(parse_json(nested(65))), Error);
  EXPECT_THROW(static_cast<void>(parse_json(std::string(1000000, '['))), Error);
}

TEST(JsonText, OfManyValuesIsRefusedBeforeTheyTakeManyTimesTheTextInMemory) {
  std::string text = "[0";
  for (int i = 2; i < 1 << 22; ++i) text += ",0";  // with the array itself the most that there may be
  EXPECT_NO_THROW(static_cast<void>(parse_json(text + "]")));
  EXPECT_THROW(static_cast<void>(parse_json(text + ",0]")), Error);
}

TEST(JsonText, AFieldThatIsThereTwiceIsRefusedByName) {
  for (const char* text : {R"({"a":1,"a":1})", R"([{"b":{"a":1,"x":[{"a":1}],"a":2}}])"}) {
    try {
      static_cast<void>(parse_json(text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
      EXPECT_STREQ(error.what(), "field a: it is there twice");
    }
  }
  EXPECT_EQ(parse_json(R"([{"a":{"a":[{"a":1},{"a":1}]},"b":1},{"a":1}])").size(), 2u);
}

TEST(JsonText, ManyFieldsAreReadInLinearTime) {
  constexpr size_t kFields = 200000;    // a minute where each is compared with all before it
  constexpr double kLinearSeconds = 5;  // of processor time
  std::string text = "{";
  for (size_t i = 0; i < kFields; ++i) text += "\"" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  const std::clock_t start = std::clock();
  const Json json = parse_json(text + "\"last\":{}}");
  EXPECT_THROW(static_cast<void>(parse_json(text + "\"0\":{}}")), Error);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kLinearSeconds);
  EXPECT_EQ(json.size(), kFields + 1);
  EXPECT_EQ(json.items().begin().key(), "0");
  EXPECT_EQ(json.back(), Json::object());
}

TEST(JsonText, WhatIsReadIsWhatTheLibraryReads) {
  for (const char* text :
       {R"({"b":{"x":[1,-2,3.5,1e300,18446744073709551615],"a":{}},"a":[[],[{"":null}],true,false,"\u00e9\n"]})", "7",
        "\"text\"", "null", " [ ] "}) {
    EXPECT_EQ(dump_line(parse_json(text)), dump_line(Json::parse(text)));
    EXPECT_EQ(parse_json(text), Json::parse(text));
  }
}

TEST(JsonText, ASyntaxErrorIsOneLine) {
  for (const char* text : {"", "{", "{\"a\":}", "nul", "{\"a\":1} x", "\"\xff\"", "{\"a\":1e999}"}) {
    try {
      static_cast<void>(parse_json(text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(JsonText, TextThatIsNotUtf8HasItsBytesBesideIt) {
  Json object;
  set_text(object, "text", "a\xff");
  EXPECT_EQ(dump_line(object), "{\"text\":\"a\xef\xbf\xbd\",\"bytes\":[97,255]}\n");
  Json plain;
  set_text(plain, "text", "a\n");
  EXPECT_EQ(dump_line(plain), "{\"text\":\"a\\n\"}\n");
}

TEST(JsonText, NoControlCharacterStandsInALineAsItIs) {
  const Json value = {{"a\x7f", "\x1b[2J\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0\xc3\x80"}, {"b", "\xc2"}};
  const std::string line = dump_line(value);
  EXPECT_EQ(line, "{\"a\\u007f\":\"\\u001b[2J\\u0080\\u009b\\u009f\xc2\xa0\xc3\x80\",\"b\":\"\xef\xbf\xbd\"}\n");
  EXPECT_EQ(parse_json(line).at("a\x7f"), value.at("a\x7f"));
  for (uint32_t c = 0; c < 0x100; ++c) {
    std::string text;
    utf8_append(text, c);
    EXPECT_EQ(parse_json(dump_line(text)), Json(text)) << c;
  }
}

TEST(JsonText, NumbersThatAreNotFiniteAreNull) {
  EXPECT_EQ(dump_line({{"x", std::numeric_limits<double>::infinity()}}), "{\"x\":null}\n");
}

TEST(JsonText, FloatsAreGivenAsPeopleWroteThem) {
  EXPECT_EQ(dump_line(shortest(0.8f)), "0.8\n");
  EXPECT_EQ(static_cast<float>(shortest(0.1f + 0.2f)), 0.1f + 0.2f);
}

}  // namespace
}  // namespace lockstep
