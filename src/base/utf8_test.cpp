#include "base/utf8.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::string encoded(uint32_t code_point) {
  std::string text;
  utf8_append(text, code_point);
  return text;
}

TEST(Utf8, WritesAndReadsEveryCodePoint) {
  for (uint32_t c = 0; c <= 0x10ffff; ++c) {
    const std::string text = encoded(c);
    if (c >= 0xd800 && c < 0xe000) {
      ASSERT_EQ(utf8_valid_length(text), 0u) << "a surrogate is no character: " << c;
      continue;
    }
    const size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    ASSERT_EQ(text.size(), length) << c;
    ASSERT_EQ(utf8_valid_length(text + "x"), length) << c;
    ASSERT_EQ(utf8_decode(text, length), c);
    for (size_t n = 1; n < length; ++n) {
      ASSERT_EQ(utf8_valid_length(text.substr(0, n)), 0u) << c;
      ASSERT_TRUE(utf8_is_incomplete(text.substr(0, n))) << c;
    }
    ASSERT_FALSE(utf8_is_incomplete(text)) << c;
  }
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndWhatLiesBeyondTheLastCodePoint) {
  for (const std::string bad :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xbf", "\xfe", "\xff", "\xe2\x28\xa1"}) {
    EXPECT_EQ(utf8_valid_length(bad), 0u);
    EXPECT_FALSE(utf8_is_valid(bad));
    EXPECT_FALSE(utf8_is_incomplete(bad));
  }
  EXPECT_FALSE(utf8_is_incomplete("\xed\xa0")) << "no byte can complete a surrogate";
  EXPECT_FALSE(utf8_is_incomplete(""));
  EXPECT_EQ(utf8_valid_length(""), 0u);
  EXPECT_TRUE(utf8_is_valid(""));
  EXPECT_TRUE(utf8_is_valid(std::string_view("a\0b", 3)));
}

TEST(Utf8, SanitizesEveryMaximalIllFormedPartToOneReplacement) {
  const std::string r = encoded(0xfffd);
  EXPECT_EQ(utf8_sanitize("plain"), "plain");
  EXPECT_EQ(utf8_sanitize("a\x80z"), "a" + r + "z");
  // The examples of the Unicode standard, tables 3-8 to 3-11.
  EXPECT_EQ(utf8_sanitize("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(utf8_sanitize("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(utf8_sanitize("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"), r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(utf8_sanitize("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), r + r + r + r + "A");
}

TEST(Utf8, SanitizesAnyBytesToValidTextAndLeavesValidTextAlone) {
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int j = 0; j < 12; ++j) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text.push_back(static_cast<char>(state >> 56));
    }
    const std::string clean = utf8_sanitize(text);
    ASSERT_TRUE(utf8_is_valid(clean));
    ASSERT_EQ(utf8_sanitize(clean), clean);
    if (utf8_is_valid(text)) {
      ASSERT_EQ(clean, text);
    }
  }
}

}  // namespace
}  // namespace lockstep
