// What a text takes while it is encoded, however it was chosen: less than the 90 times that SECURITY.md states.
#include <gtest/gtest.h>

#include <string>

#include "forge/peak_memory.h"
#include "forge/sanitized.h"
#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::tokenizer {
namespace {

constexpr size_t kTextBytes = 2'950'000;  // the queue of the worst text grows to just behind a power of two
constexpr uint64_t kMostTimes = 85;

void expect_few_times_the_text(const Tokenizer& tokenizer, std::string_view unit) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  std::string text;
  while (text.size() < kTextBytes) text += unit;
  count_peak_memory_anew();
  const uint64_t before = peak_memory();
  ASSERT_GT(before, 0u);
  EXPECT_FALSE(tokenizer.encode(text, {}).empty());
  EXPECT_LT(peak_memory() - before, kMostTimes * text.size());
}

// "abab..." from its first or second letter.
std::string alternating(size_t start, size_t n) {
  std::string text;
  for (size_t i = start; i < start + n; ++i) text += i % 2 == 0 ? 'a' : 'b';
  return text;
}

TEST(EncodingMemory, OfATextOfAddedTokensIsAFewTimesItsSize) {
  expect_few_times_the_text(Tokenizer::load(forge_bpe({{"=", TokenType::kUserDefined}}, {})), "=");
}

// All pairs are proposed at every length; those that begin with b wait to the end.
TEST(EncodingMemory, OfATextWhosePairsAllSpellTokensIsAFewTimesItsSize) {
  std::vector<ForgedToken> tokens = {{"a"}, {"b"}};
  for (size_t n = 2; n <= 16; ++n) {
    const bool merges_first = (n & (n - 1)) == 0;
    tokens.push_back({alternating(0, n), TokenType::kNormal, merges_first ? 0.0f - static_cast<float>(n) : -1000.0f});
    tokens.push_back({alternating(1, n), TokenType::kNormal, -1000.0f});
  }
  expect_few_times_the_text(Tokenizer::load(forge_spm(tokens)), "ab");
}

}  // namespace
}  // namespace lockstep::tokenizer
