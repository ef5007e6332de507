#include "tokenizer/merge_table.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::tokenizer {
namespace {

constexpr size_t kLongest = 16;

// The id of a word of a and b. Letters are byte tokens; words stand in the order of their lengths, then as numbers with
// the digits a and b.
uint32_t id_of(std::string_view word) {
  if (word.size() == 1) return static_cast<unsigned char>(word[0]);
  uint32_t number = 1;
  for (const char c : word) number = number * 2 + (c == 'b' ? 1 : 0);
  return static_cast<uint32_t>(kFirstBpeExtra) + number - 4;
}

std::vector<ForgedToken> all_words() {
  std::vector<ForgedToken> words;
  for (size_t length = 2; length <= kLongest; ++length) {
    for (size_t number = 0; number < size_t{1} << length; ++number) {
      std::string word(length, 'a');
      for (size_t i = 0; i < length; ++i) word[i] = (number >> (length - 1 - i) & 1) != 0 ? 'b' : 'a';
      words.push_back({word});
    }
  }
  return words;
}

// The merges whose ids, hashed with a number that everybody knows, fall on an eighth of the table.
std::vector<std::string> crowded_merges(const std::vector<ForgedToken>& words) {
  std::vector<std::string> merges;
  for (const ForgedToken& word : words) {
    for (size_t cut = 1; cut < word.text.size(); ++cut) {
      const std::string left = word.text.substr(0, cut), right = word.text.substr(cut);
      const uint64_t pair = uint64_t{id_of(left)} << 32 | (id_of(left) ^ id_of(right));
      if (pair * 0x9e3779b97f4a7c15u >> 61 == 0) merges.push_back(left + ' ' + right);
    }
  }
  return merges;
}

TEST(MergeTable, PairsChosenToCrowdTheTableAreFoundInLinearTime) {
  constexpr double kLinearSeconds = 3;  // of processor time
  const std::vector<ForgedToken> words = all_words();
  const gguf::Metadata metadata = forge_bpe(words, crowded_merges(words));
  const std::clock_t start = std::clock();
  const Tokenizer tokenizer = Tokenizer::load(metadata);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kLinearSeconds);
  EXPECT_EQ(tokenizer.warnings(), std::vector<std::string>());
}

}  // namespace
}  // namespace lockstep::tokenizer
