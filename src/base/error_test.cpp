#include "base/error.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Printable, LeavesTextAloneInAnyLanguage) {
  EXPECT_EQ(printable("plain text, 100 %"), "plain text, 100 %");
  EXPECT_EQ(printable("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"), "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, EscapesEverythingThatCouldMoveATerminalOrBreakALine) {
  EXPECT_EQ(printable("a\nb\r\tc"), "a\\x0Ab\\x0D\\x09c");
  EXPECT_EQ(printable("\x1b[2J"), "\\x1B[2J");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7F");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xC2\\x9B") << "CSI in 8 bits";
  EXPECT_EQ(printable("\xff\xc3"), "\\xFF\\xC3");
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\xE2\\x80\\xA8") << "the line separator U+2028";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xE2\\x80\\xAE") << "the right-to-left override U+202E";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string shown = printable(std::string(1, static_cast<char>(byte)));
    for (const char c : shown)
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f) << byte;
  }
}

TEST(Printable, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(printable(std::string(1000, 'x')).size(), 83u);
  const std::string shown = printable("abcde\xe4\xb8\xad\xe4\xb8\xad", 6);
  EXPECT_TRUE(shown == "abcde..." || shown == "abcde\xe4\xb8\xad...") << shown;
}

TEST(Fail, ThrowsCodeAndFormattedMessage) {
  try {
    fail(ErrorCode::kBadFile, "{}: key {} is {}", "a.gguf", "n", 7);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadFile);
    EXPECT_STREQ(error.what(), "a.gguf: key n is 7");
  }
}

TEST(ErrorCode, HasANameOfItsOwnForEveryValue) {
  std::vector<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kNotFinite); ++code) {
    const std::string_view name = to_string(static_cast<ErrorCode>(code));
    EXPECT_NE(name, "unknown") << code;
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name;
    names.push_back(name);
  }
}

}  // namespace
}  // namespace lockstep
