#include "tokenizer/text_index.h"

#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::tokenizer {
namespace {

// The step of MurmurHash64A, which is libstdc++'s std::hash on 64-bit machines: multiplications by an odd number and a
// shift that undoes itself, so that the second half of a text can be chosen to give any hash.
constexpr uint64_t kFactor = 0xc6a4a7935bd1e995u;

constexpr uint64_t inverse(uint64_t odd) {
  uint64_t result = odd;  // Newton's iteration: right in 3, 6, 12... bits
  for (int i = 0; i < 6; ++i) result *= 2 - odd * result;
  return result;
}

constexpr uint64_t shifted(uint64_t v) {
  return v ^ v >> 47;
}

// 16 bytes that begin with `number`. All have one hash.
std::string text_of_equal_hash(uint64_t number) {
  constexpr uint64_t kStart = 0xc70f6907u ^ 16 * kFactor;
  const uint64_t state = (kStart ^ shifted(number * kFactor) * kFactor) * kFactor ^ 12345;
  const uint64_t halves[2] = {number, shifted(state * inverse(kFactor)) * inverse(kFactor)};
  std::string text(sizeof halves, '\0');
  std::memcpy(text.data(), halves, sizeof halves);
  return text;
}

TEST(TextIndex, KeepsTheFirstIdOfAKey) {
  TextIndex index(2);
  EXPECT_TRUE(index.insert("abc", 7));
  EXPECT_FALSE(index.insert("abc", 8));
  EXPECT_TRUE(index.insert("", 9));
  EXPECT_FALSE(index.insert("full", 10));
  EXPECT_EQ(index.find("abc"), 7);
  EXPECT_EQ(index.find(""), 9);
  EXPECT_EQ(index.find("ab"), -1);
  EXPECT_EQ(index.longest_key(), 3u);
}

TEST(TextIndex, TextsOfEqualStandardHashAreFoundInLinearTime) {
  constexpr size_t kTexts = 200000;     // a minute where each meets all before it
  constexpr double kLinearSeconds = 1;  // of processor time; 0.03 are taken
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < kTexts; ++i) texts.push_back(text_of_equal_hash(i));
#if defined(__GLIBCXX__) && defined(__LP64__)
  ASSERT_EQ(std::hash<std::string>()(texts.front()), std::hash<std::string>()(texts.back()));
#endif
  const std::clock_t start = std::clock();
  TextIndex index(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) ASSERT_TRUE(index.insert(texts[i], static_cast<TokenId>(i)));
  for (size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(index.find(texts[i]), static_cast<TokenId>(i));
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kLinearSeconds);
}

}  // namespace
}  // namespace lockstep::tokenizer
