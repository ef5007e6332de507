#include "tokenizer/pretokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tokenizer/recent_characters.h"

namespace lockstep::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

Pieces split_with(const PretokenizerSpec& spec, std::string_view text) {
  Pieces pieces;
  size_t begin = 0;
  for (const size_t end : Pretokenizer(spec).split(text)) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return pieces;
}

Pieces split(std::string_view name, std::string_view text) {
  return split_with(pretokenizer_spec(name), text);
}

TEST(Pretokenizer, EveryPatternOfTheTableCompilesAndLosesNothing) {
  const std::string text =
      "It's 12345 o'clock,  WE'LL go\r\n\n  \t\"x\"! \xe4\xb8\xad\xe6\x96\x87 \xd0\x9f\xd1\x80\xd0\xb8 \xff\xe2\x80 ";
  for (const PretokenizerSpec& spec : all_pretokenizers()) {
    SCOPED_TRACE(std::string(spec.name));
    std::string joined;
    for (const std::string& piece : split_with(spec, text)) {
      EXPECT_FALSE(piece.empty());
      joined += piece;
    }
    EXPECT_EQ(joined, text);
  }
  EXPECT_GE(all_pretokenizers().size(), 80u);
}

TEST(Pretokenizer, TheTableIsSortedAndNamesAreUnique) {
  const auto all = all_pretokenizers();
  for (size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
}

TEST(Pretokenizer, AnUnknownNameListsTheNearest) {
  try {
    (void)pretokenizer_spec("qwen22");
    FAIL() << "qwen22 is not a pre-tokenizer";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    const std::string message = error.what();
    EXPECT_NE(message.find("qwen22"), std::string::npos);
    EXPECT_NE(message.find("the nearest are qwen2"), std::string::npos) << message;
  }
}

TEST(Pretokenizer, FamiliesDifferInDigits) {
  EXPECT_EQ(split("gpt-2", "12345"), (Pieces{"12345"}));
  EXPECT_EQ(split("llama-bpe", "12345"), (Pieces{"123", "45"}));
  EXPECT_EQ(split("qwen2", "123"), (Pieces{"1", "2", "3"}));
  EXPECT_EQ(split("smollm", "a 12"), (Pieces{"a", " ", "1", "2"}));
  EXPECT_EQ(split("superbpe", "1234567"), (Pieces{"1", "234", "567"}));
  EXPECT_EQ(split("tiny_aya", "x 123456 1234"), (Pieces{"x", " ", "123", "456", " ", "1", "234"}));
  EXPECT_EQ(split("tiny_aya", "1234x"), (Pieces{"123", "4", "x"})) << "only a word boundary lets digits be grouped";
  EXPECT_EQ(split("afmoe", "ab1234"), (Pieces{"ab", "1", "234"}));
  EXPECT_EQ(split("falcon", "a12345"), (Pieces{"a", "123", "45"}));
}

TEST(Pretokenizer, FamiliesDifferInContractions) {
  EXPECT_EQ(split("gpt-2", "I'LL"), (Pieces{"I", "'", "LL"}));
  EXPECT_EQ(split("llama-bpe", "I'LL"), (Pieces{"I", "'LL"}));
  EXPECT_EQ(split("gpt-4o", "I'LL"), (Pieces{"I'LL"}));
  EXPECT_EQ(split("ufakzeka", "I'll"), (Pieces{"I", "'ll"}));
}

TEST(Pretokenizer, FamiliesDifferInCase) {
  EXPECT_EQ(split("gpt-4o", "helloWorld"), (Pieces{"hello", "World"}));
  EXPECT_EQ(split("tekken", "\xd0\xbf\xd0\x9f\xd0\xbf"), (Pieces{"\xd0\xbf", "\xd0\x9f\xd0\xbf"})) << "in every script";
  EXPECT_EQ(split("llama-bpe", "helloWorld"), (Pieces{"helloWorld"}));
}

TEST(Pretokenizer, WhiteSpaceLeavesOneSpaceToTheNextWord) {
  EXPECT_EQ(split("gpt-2", "a   b"), (Pieces{"a", "  ", " b"}));
  EXPECT_EQ(split("llama-bpe", "a  \n\n  b"), (Pieces{"a", "  \n\n", " ", " b"}));
  EXPECT_EQ(split("gemma4", "a b\n\nc"), (Pieces{"a b", "\n\n", "c"}));
  EXPECT_EQ(split("jais-2", std::string(600, ' ') + "b"),
            (Pieces{std::string(512, ' '), std::string(64, ' '), std::string(16, ' '), std::string(4, ' '),
                    std::string(2, ' '), " ", " b"}));
}

TEST(Pretokenizer, MarksBelongToWordsWhereTheFamilySaysSo) {
  const std::string e_acute = "e\xcc\x81";
  EXPECT_EQ(split("qwen35", e_acute), (Pieces{e_acute}));
  EXPECT_EQ(split("qwen2", e_acute), (Pieces{"e", "\xcc\x81"}));
}

TEST(Pretokenizer, KimiKeepsHanApart) {
  EXPECT_EQ(split("kimi-k2",
                  "ab\xe4\xb8\xad\xe6\x96\x87"
                  "cd"),
            (Pieces{"ab", "\xe4\xb8\xad\xe6\x96\x87", "cd"}));
}

TEST(Pretokenizer, MongolianVowelSeparatorIsNotWhiteSpace) {
  EXPECT_EQ(split("gpt-2", "  \xe1\xa0\x8e"), (Pieces{" ", " \xe1\xa0\x8e"}));
  EXPECT_EQ(split("gpt-2", " \xc2\x85z"), (Pieces{" ", "\xc2\x85", "z"})) << "but U+0085 is";
  EXPECT_EQ(to_pcre2(R"([^\s\\s]\S)"), R"([^\p{White_Space}\\s]\P{White_Space})");
}

TEST(Pretokenizer, CharactersYoungerThanPcre2AreKnown) {
  const std::string letter = "\xf0\xb1\x8d\x90";  // U+31350, a Han character of Unicode 15.0
  EXPECT_EQ(split("gpt-2", "a" + letter + "!"), (Pieces{"a" + letter, "!"}));
  EXPECT_EQ(stand_in_for(0x31350), 0x20000u);
  EXPECT_EQ(stand_in_for(0x3134f), 0x3134fu);
  EXPECT_EQ(stand_in_for(0x1e4eb), 0x16b40u);
  EXPECT_TRUE(holds_recent_characters("x" + letter));
  EXPECT_FALSE(holds_recent_characters("x\xf0\x9f\x98\x80\xe4\xb8\xad"));
}

TEST(Pretokenizer, InvalidBytesAreSymbols) {
  EXPECT_EQ(split("gpt-2", "a\xe6\xad z"), (Pieces{"a", "\xe6\xad", " z"}));
  EXPECT_EQ(split("gpt-2", std::string("a\0b", 3)), (Pieces{"a", std::string("\0", 1), "b"}));
}

TEST(Pretokenizer, AnExhaustedLimitIsANamedError) {
  static constexpr SplitRule kExponential[] = {{"(a|a)*[b-d]"}};
  const PretokenizerSpec spec{.name = "exponential", .rules = kExponential};
  try {
    (void)Pretokenizer(spec).split(std::string(60, 'a'));
    FAIL() << "the pattern needs 2^60 steps";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("pre-tokenizer exponential"), std::string::npos) << error.what();
  }
}

TEST(Pretokenizer, EveryFamilyTakesTimeInProportionToTheText) {
  constexpr size_t kMegabyte = 1 << 20;
  std::vector<std::string> texts;
  for (const std::string unit : {" ", "\n", "a", "A", "7", "\xcc\x81", "a1", "Aa", "\xe4\xb8\xad"}) {
    std::string text;
    while (text.size() < kMegabyte / 4) text += unit;
    texts.push_back(text + "\t!z");  // an end that makes look-aheads fail
  }
  for (const PretokenizerSpec& spec : all_pretokenizers()) {
    const Pretokenizer pretokenizer(spec);
    for (const std::string& text : texts) EXPECT_EQ(pretokenizer.split(text).back(), text.size()) << spec.name;
  }
}

}  // namespace
}  // namespace lockstep::tokenizer
