#include "terminal.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Terminal, TextCannotMoveTheCursor) {
  EXPECT_EQ(terminal_text("\x1b]0;title\x07 \x1b[2J\r"), "\\x1B]0;title\\x07 \\x1B[2J\\x0D");
  EXPECT_EQ(terminal_text("\xc2\x9b"), "\\xC2\\x9B");  // CSI as one C1 control character
}

TEST(Terminal, OrdinaryTextStaysAsItIs) {
  EXPECT_EQ(terminal_text("a\n\tb \xc3\xa9 \\"), "a\n\tb \xc3\xa9 \\");
  const std::string longer(1000, 'x');
  EXPECT_EQ(terminal_text(longer), longer);
}

TEST(Terminal, PiecesStandOnOneLineAndCanBeReadBack) {
  EXPECT_EQ(escaped_piece("\n\t\r\\ \xff\xc3\xa9"), "\\n\\t\\r\\\\ \\xFF\xc3\xa9");
}

TEST(Terminal, PiecesAreCutBetweenCharacters) {
  EXPECT_EQ(escaped_piece("abc", 3), "abc");
  EXPECT_EQ(escaped_piece("abcd", 3), "abc...");
  EXPECT_EQ(escaped_piece("abcd", 0), "...");
  EXPECT_EQ(escaped_piece("ab\xc3\xa9z", 3), "ab...");
  EXPECT_EQ(escaped_piece("ab\xc3\xa9z", 4), "ab\xc3\xa9...");
  EXPECT_EQ(escaped_piece("\xf0\x9f\x98\x80z", 3), "...");
  EXPECT_EQ(escaped_piece("\xff\xff\xff", 2), "\\xFF\\xFF...");
}

}  // namespace
}  // namespace lockstep
