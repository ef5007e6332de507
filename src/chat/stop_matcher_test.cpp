#include "chat/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "forge/random_data.h"

namespace lockstep::chat {
namespace {

using Texts = std::vector<std::string>;

std::string whole(const std::string& text, const Texts& stops) {
  StopMatcher matcher(stops);
  const std::string certain = matcher.push(text);
  return certain + matcher.flush();
}

// The definition, told another way: the shortest beginning of the text that ends with a stop, less the longest such.
std::string by_definition(const std::string& text, const Texts& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (!stop.empty() && std::string_view(text).substr(0, end).ends_with(stop))
        longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

TEST(StopMatcher, TheTextEndsJustBeforeTheMatch) {
  EXPECT_EQ(whole("alpha beta gamma delta", {"gamma delta"}), "alpha beta ");
  EXPECT_EQ(whole("xxabcd", {"abc", "ab"}), "xx");
  EXPECT_EQ(whole("stop at once", {"stop"}), "");
  EXPECT_EQ(whole("gamma del", {"gamma delta"}), "gamma del");
  EXPECT_EQ(whole("aXb", {"X", "aXb"}), "a");  // "X" is complete first
  EXPECT_EQ(whole("aaab", {"aab"}), "a");      // a beginning inside a beginning
  EXPECT_EQ(whole("text", {"", ""}), "text");  // nothing stops nothing
  EXPECT_EQ(whole("caf\xc3\xa9!", {"\xc3\xa9"}), "caf");
}

TEST(StopMatcher, WhatMayBeginAStopIsHeldAndGivenOutWhenItIsNone) {
  StopMatcher matcher({"gamma delta"});
  EXPECT_EQ(matcher.push("beta gam"), "beta ");
  EXPECT_EQ(matcher.push("ma"), "");
  EXPECT_EQ(matcher.push(" epsilon g"), "gamma epsilon ");
  EXPECT_FALSE(matcher.matched());
  EXPECT_EQ(matcher.flush(), "g");
}

TEST(StopMatcher, NothingComesAfterAStop) {
  StopMatcher matcher({"end"});
  EXPECT_EQ(matcher.push("the end of"), "the ");
  EXPECT_TRUE(matcher.matched());
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.flush(), "");
}

TEST(StopMatcher, AStopThatIsNoTextIsRefused) {
  EXPECT_THROW(StopMatcher({"a", "\xc3"}), Error);
}

Texts random_texts(forge::RandomData& random, int64_t most, int64_t longest) {
  static const Texts kLetters = {"a", "b", "c", " ", "\xc3\xa9", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x81"};
  Texts texts(static_cast<size_t>(random.below(most + 1)));
  for (std::string& text : texts) {
    for (int64_t n = random.below(longest + 1); n > 0; --n)
      text += kLetters[static_cast<size_t>(random.below(static_cast<int64_t>(kLetters.size())))];
  }
  return texts;
}

// Cuts between characters, as a decoder gives them.
TEST(StopMatcher, WhereTheTextWasCutDoesNotMatter) {
  forge::RandomData random(7);
  int n_stopped = 0;
  for (int round = 0; round < 10000; ++round) {
    const Texts stops = random_texts(random, 4, 5);
    std::string text;
    for (const std::string& part : random_texts(random, 12, 6)) text += part;
    const std::string wanted = by_definition(text, stops);
    StopMatcher matcher(stops);
    std::string got;
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      for (int64_t n = random.below(4) + 1; n > 0 && end < text.size(); --n)
        end += utf8_valid_length(std::string_view(text).substr(end));
      const std::string part = matcher.push(text.substr(at, end - at));
      ASSERT_TRUE(utf8_is_valid(part));
      ASSERT_TRUE(wanted.starts_with(got + part)) << "text that a stop takes back was given out";
      got += part;
      at = end;
    }
    ASSERT_EQ(got + matcher.flush(), wanted) << round;
    n_stopped += matcher.matched() ? 1 : 0;
  }
  EXPECT_GT(n_stopped, 2500);
  EXPECT_LT(n_stopped, 9500);
}

TEST(StopMatcher, AThousandStopsAreServed) {
  Texts stops;
  for (int i = 0; i < 1000; ++i) stops.push_back("stop number " + std::to_string(1000 + i) + ".");
  EXPECT_EQ(whole("no stop number 999. but stop number 1999. comes", stops), "no stop number 999. but ");
}

}  // namespace
}  // namespace lockstep::chat
