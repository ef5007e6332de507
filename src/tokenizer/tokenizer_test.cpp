#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/golden_vocab_test.h"
#include "tokenizer/spelled_spaces.h"
#include "tokenizer/stream_decoder.h"

namespace lockstep::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

// A text as a vocabulary gives it back: U+2581 is a space where spaces are spelled so.
std::string expected_back(const Tokenizer& tokenizer, const std::string& text) {
  const bool spells_spaces = tokenizer.decode(tokenizer.encode("x\xe2\x96\x81y", {}), {}) == "x y";
  return spells_spaces ? with_real_spaces(text) : text;
}

TEST(CaseB20, PublishedIdsOfDifficultTexts) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  const Tokenizer& llama3 = golden_tokenizer("llama-bpe");
  EXPECT_EQ(llama3.encode("C\xe1\xbb\xad"
                          "a Vi\xe1\xbb\x87t",
                          {}),
            (Ids{34, 91163, 101798}));
  EXPECT_EQ(llama3.encode("\n\n", {}), Ids{271});
  EXPECT_EQ(llama3.encode("3333333", {}), (Ids{8765, 8765, 18}));
  EXPECT_EQ(llama3.encode("\t\n", {}), Ids{1602});
  EXPECT_EQ(golden_tokenizer("qwen2").encode("3333333", {}), Ids(7, 18));
  const Tokenizer& gemma4 = golden_tokenizer("gemma-4");
  EXPECT_EQ(gemma4.encode("  ", {}), Ids{138});
  EXPECT_EQ(gemma4.encode("   ", {}), Ids{139});
  EXPECT_EQ(gemma4.encode("    Hello", {}), (Ids{140, 9259}));
  EXPECT_EQ(golden_tokenizer("llama-spm").encode("  ", {}), Ids{1678});
}

TEST(CaseB22, InvalidBytesAndNulAreKept) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  EXPECT_EQ(golden_tokenizer("llama-bpe").encode("\xe6\xad", {}), Ids{15722});
  for (const std::string& name : golden_vocab_names()) {
    SCOPED_TRACE(name);
    const Tokenizer& tokenizer = golden_tokenizer(name);
    for (const std::string part : {"\xe2\x80", "\xc0\x80", "\xed\xa0\x80", "\xf5", "\xff"}) {
      for (const std::string& text : {part, std::string("ab") + part + "cd", std::string(" ") + part + " "}) {
        const Ids ids = tokenizer.encode(text, {});
        EXPECT_EQ(tokenizer.encode(text, {}), ids);
        if (!tokenizer.spells_all_bytes()) continue;
        EXPECT_EQ(tokenizer.decode(ids, {}), text);
      }
    }
    const std::string with_nul("ab\0cd", 5);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(with_nul, {}), {}), with_nul);
  }
}

TEST(CaseB24, LongPiecesAreWholeAndBadIdsRefused) {
  const std::string longest(300, 'x');
  const auto tokenizer = Tokenizer::load(forge_bpe({{longest}}, {}, "llama-bpe"));
  EXPECT_EQ(tokenizer.encode(longest, {}), Ids{256});
  EXPECT_EQ(tokenizer.decode(Ids{256}, {}), longest);
  EXPECT_EQ(tokenizer.piece(256), longest);
  for (const TokenId id : {-1, 257, std::numeric_limits<TokenId>::max(), std::numeric_limits<TokenId>::min()}) {
    EXPECT_THROW((void)tokenizer.decode(Ids{id}, {}), Error);
    EXPECT_THROW((void)tokenizer.piece(id), Error);
    EXPECT_FALSE(tokenizer.is_end_of_generation(id));
    try {
      (void)tokenizer.decode(Ids{id}, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadRequest);
      EXPECT_NE(std::string(error.what()).find(std::to_string(id)), std::string::npos);
    }
  }
}

TEST(Tokenizer, SpecialTokensAreAddedByTheFilesRule) {
  gguf::Metadata metadata = forge_spm({{"\xe2\x96\x81"}});
  metadata.add("tokenizer.ggml.add_eos_token", true);
  const auto tokenizer = Tokenizer::load(metadata);
  EXPECT_EQ(tokenizer.encode("", {true, false}), (Ids{1, 2}));
  EXPECT_EQ(tokenizer.encode("", {false, false}), Ids{});
  gguf::Metadata without = forge_spm({});
  without.add("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(Tokenizer::load(without).encode("", {true, false}), Ids{});
}

TEST(Tokenizer, ControlTokensAreShownOnRequest) {
  const auto tokenizer = Tokenizer::load(forge_bpe({{"<|im_end|>", TokenType::kControl}}, {}));
  EXPECT_EQ(tokenizer.decode(Ids{'a', 256}, {}), "a");
  EXPECT_EQ(tokenizer.decode(Ids{'a', 256}, {.show_special = true}), "a<|im_end|>");
}

std::string random_bytes(std::mt19937& random, size_t size) {
  std::string text;
  while (text.size() < size) text.push_back(static_cast<char>(random() & 0xff));
  return text;
}

// Letters, marks, spaces, emoji and a few wild bytes: closer to text, so that merges happen.
std::string random_text(std::mt19937& random, size_t n_parts) {
  static const std::vector<std::string> parts = {" ",
                                                 "  ",
                                                 "\n",
                                                 "\t",
                                                 "a",
                                                 "th",
                                                 "the",
                                                 "A",
                                                 "'s",
                                                 "12",
                                                 "\xc3\xa9",
                                                 "\xcc\x81",
                                                 "\xe4\xb8\xad",
                                                 "\xe2\x96\x81",
                                                 "\xf0\x9f\x98\x80",
                                                 "\xe2\x80\x8d",
                                                 "\xd0\x9f",
                                                 "<",
                                                 "|>",
                                                 "</s>",
                                                 "<0x0A>",
                                                 "\xff",
                                                 "\xe6\xad",
                                                 ".",
                                                 "!!",
                                                 "\xc2\xa0",
                                                 "\r\n"};
  std::string text;
  for (size_t i = 0; i < n_parts; ++i) text += parts[random() % parts.size()];
  return text;
}

TEST(Tokenizer, DecodingGivesBackEveryByteString) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  for (const std::string& name : golden_vocab_names()) {
    SCOPED_TRACE(name);
    const Tokenizer& tokenizer = golden_tokenizer(name);
    if (!tokenizer.spells_all_bytes()) continue;
    std::mt19937 random(20261130);
    for (size_t i = 0; i < 300; ++i) {
      const std::string text = i % 2 == 0 ? random_bytes(random, i) : random_text(random, i);
      const Ids ids = tokenizer.encode(text, {});
      ASSERT_EQ(tokenizer.decode(ids, {}), expected_back(tokenizer, text)) << "round " << i;
      StreamDecoder decoder(tokenizer, {});
      std::string streamed;
      for (const TokenId id : ids) streamed += decoder.push(id);
      ASSERT_EQ(streamed + decoder.flush(), expected_back(tokenizer, text));
    }
  }
}

TEST(Tokenizer, OrdinaryTextNeverGivesControlTokens) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  for (const std::string& name : golden_vocab_names()) {
    const Tokenizer& tokenizer = golden_tokenizer(name);
    std::string all;
    for (TokenId id = 0; static_cast<size_t>(id) < tokenizer.n_tokens(); ++id) {
      if (tokenizer.is_control(id)) all.append(tokenizer.piece(id)).append(" ");
    }
    for (const TokenId id : tokenizer.encode(all, {})) ASSERT_FALSE(tokenizer.is_control(id)) << name << " id " << id;
  }
}

TEST(Tokenizer, AMegabyteOfOneKindTakesAboutASecond) {
  LOCKSTEP_NEEDS("LOCKSTEP_GOLDEN");
  constexpr size_t kMegabyte = 1 << 20;
  for (const std::string& name : golden_vocab_names()) {
    const Tokenizer& tokenizer = golden_tokenizer(name);
    for (const std::string unit : {" ", "a", "7", "\xcc\x81", "a1", "\n", "\xff"}) {
      std::string text;
      while (text.size() < kMegabyte) text += unit;
      const std::clock_t start = std::clock();  // processor time: other work on the machine does not count
      const Ids ids = tokenizer.encode(text, {});
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      EXPECT_LT(seconds, 10.0) << name << " " << testing::PrintToString(unit);  // wide, for sanitizers
      if (!tokenizer.spells_all_bytes()) continue;
      EXPECT_EQ(tokenizer.decode(ids, {}), text) << name;
    }
  }
}

TEST(Tokenizer, NoTextHasFewerTokensThanTheLeast) {
  const std::string spelled = "\xe2\x96\x81";
  const Tokenizer spm = Tokenizer::load(forge_spm({{spelled}, {spelled + spelled, TokenType::kNormal, 1.0f}}));
  const Tokenizer bpe = Tokenizer::load(forge_bpe({{"<name>", TokenType::kUserDefined}}, {}));
  for (const Tokenizer* tokenizer : {&spm, &bpe}) {
    for (const std::string& unit :
         {spelled, std::string(" "), std::string("<name>"), std::string("a"), std::string("\xff")}) {
      std::string text;
      while (text.size() < 600) text += unit;
      EXPECT_LE(tokenizer->least_tokens(text.size()), tokenizer->encode(text, {}).size()) << unit;
    }
  }
  EXPECT_EQ(bpe.least_tokens(600), 100U);
  gguf::Metadata swallowing = forge_bpe({{"<|user|>", TokenType::kControl}}, {});
  swallowing.add("general.name", std::string("Phi-3"));
  EXPECT_EQ(Tokenizer::load(swallowing).least_tokens(1 << 20), 0U);
}

}  // namespace
}  // namespace lockstep::tokenizer
