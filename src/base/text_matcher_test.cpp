#include "base/text_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace lockstep {
namespace {

using Texts = std::vector<std::string_view>;

// The longest text at every place of `in`.
std::vector<int32_t> found(const TextMatcher& matcher, std::string_view in) {
  std::vector<int32_t> at(in.size());
  TextMatcher::Walk walk(matcher);
  for (size_t i = in.size(); i-- > 0;) at[i] = walk.step(in[i]);
  return at;
}

int32_t longest_of(const Texts& texts, std::string_view at, size_t most) {
  int32_t best = TextMatcher::kNone;
  size_t size = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() <= size || texts[i].size() > most || !at.starts_with(texts[i])) continue;
    best = static_cast<int32_t>(i);
    size = texts[i].size();
  }
  return best;
}

TEST(TextMatcher, TellsTheLongestTextAtEveryPlace) {
  const TextMatcher matcher(Texts{"ab", "", "abc", "bc", "ab", "\xff"});
  EXPECT_EQ(found(matcher, "xabcab\xff"), (std::vector<int32_t>{-1, 2, 3, -1, 0, -1, 5}));
  EXPECT_EQ(found(TextMatcher(), "abc"), (std::vector<int32_t>{-1, -1, -1}));
}

TEST(TextMatcher, AgreesWithASearchForEachText) {
  std::mt19937 random(7);  // the standard fixes its numbers
  const auto word = [&random](size_t most) {
    std::string text;
    for (size_t n = random() % (most + 1); n > 0; --n) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> words;
    for (int i = 0; i < 12; ++i) words.push_back(word(8));
    const Texts texts(words.begin(), words.end());
    const TextMatcher matcher(texts);
    const std::string in = word(60);
    const std::vector<int32_t> at = found(matcher, in);
    for (size_t i = 0; i < in.size(); ++i) {
      const std::string_view rest = std::string_view(in).substr(i);
      ASSERT_EQ(at[i], longest_of(texts, rest, rest.size())) << in << " at " << i;
      for (size_t most = 0; most < 9; ++most) ASSERT_EQ(matcher.prefix_of(at[i], most), longest_of(texts, rest, most));
    }
  }
}

TEST(TextMatcher, PrefixesOfALongChainAreFoundByJumps) {
  std::vector<std::string> words;
  for (size_t n = 1; n <= 2000; ++n) words.emplace_back(n, '=');
  const TextMatcher matcher(Texts(words.begin(), words.end()));
  for (const size_t most : {size_t{1}, size_t{7}, size_t{1024}, size_t{1999}, size_t{2000}}) {
    EXPECT_EQ(matcher.prefix_of(1999, most), static_cast<int32_t>(most - 1));
  }
  EXPECT_EQ(matcher.prefix_of(1999, 0), TextMatcher::kNone);
  EXPECT_EQ(matcher.shorter(0), TextMatcher::kNone);
}

}  // namespace
}  // namespace lockstep
