#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/forged_vocab_test.h"

namespace lockstep::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

Ids bytes_as_ids(std::string_view text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

TEST(StreamDecoder, HoldsACharacterUntilItIsWhole) {
  const auto tokenizer = Tokenizer::load(forge_bpe({}, {}));
  StreamDecoder decoder(tokenizer, {});
  EXPECT_EQ(decoder.push(0xf0), "");
  EXPECT_EQ(decoder.push(0x9f), "");
  EXPECT_EQ(decoder.push(0x98), "");
  EXPECT_EQ(decoder.push(0x80), "\xf0\x9f\x98\x80");
  EXPECT_EQ(decoder.flush(), "");
}

TEST(StreamDecoder, FlushGivesTheRestRaw) {
  const auto tokenizer = Tokenizer::load(forge_bpe({}, {}));
  StreamDecoder decoder(tokenizer, {});
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.push(0xe4), "");
  EXPECT_EQ(decoder.flush(), "\xe4");
  EXPECT_EQ(decoder.flush(), "");
}

TEST(StreamDecoder, BytesThatCannotBecomeACharacterGoOut) {
  const auto tokenizer = Tokenizer::load(forge_bpe({}, {}));
  StreamDecoder decoder(tokenizer, {});
  EXPECT_EQ(decoder.push(0xff), "\xff");
  EXPECT_EQ(decoder.push(0xe4), "");
  EXPECT_EQ(decoder.push('x'), "\xe4x");
  EXPECT_EQ(decoder.push(0xed), "");
  EXPECT_EQ(decoder.push(0xa0), "\xed\xa0");  // a surrogate's begin is no character's begin
}

TEST(StreamDecoder, TogetherGivesWhatDecodeGives) {
  const auto tokenizer = Tokenizer::load(forge_spm({{"\xe2\x96\x81"},
                                                    {"\xe2\x96\x81"
                                                     "a"},
                                                    {"<|im_end|>", TokenType::kControl}}));
  for (const DecodeOptions options : {DecodeOptions{}, DecodeOptions{true, false}, DecodeOptions{false, true}}) {
    const Ids ids = {
        1, kFirstSpmExtra + 1, 3 + 0xc3, 3 + 0xa9, kFirstSpmExtra, kFirstSpmExtra + 2, kFirstSpmExtra + 1, 3 + 0xe2};
    StreamDecoder decoder(tokenizer, options);
    std::string streamed;
    for (const TokenId id : ids) streamed += decoder.push(id);
    EXPECT_TRUE(utf8_is_valid(streamed));
    EXPECT_EQ(streamed + decoder.flush(), tokenizer.decode(ids, options));
  }
  EXPECT_EQ(tokenizer.decode(Ids{kFirstSpmExtra + 1}, {}), "a");
  EXPECT_EQ(tokenizer.decode(Ids{kFirstSpmExtra + 1}, {.continues = true}), " a");
}

TEST(StreamDecoder, EveryPrefixIsValidForValidText) {
  const auto tokenizer = Tokenizer::load(forge_bpe({}, {}));
  StreamDecoder decoder(tokenizer, {});
  for (const TokenId id : bytes_as_ids("h\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80!"))
    EXPECT_TRUE(utf8_is_valid(decoder.push(id)));
}

}  // namespace
}  // namespace lockstep::tokenizer
