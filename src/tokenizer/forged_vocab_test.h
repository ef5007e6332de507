// Test support: small vocabularies built in memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "gguf/metadata.h"
#include "tokenizer/token_types.h"

namespace lockstep::tokenizer {

struct ForgedToken {
  std::string text;
  TokenType type = TokenType::kNormal;
  float score = 0;
};

// A metadata set that the tests may add further keys to.
inline gguf::Metadata forge(const std::string& model, const std::vector<ForgedToken>& tokens) {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  std::vector<float> scores;
  for (const ForgedToken& token : tokens) {
    texts.push_back(token.text);
    types.push_back(static_cast<int32_t>(token.type));
    scores.push_back(token.score);
  }
  gguf::Metadata metadata;
  metadata.add("tokenizer.ggml.model", model);
  metadata.add("tokenizer.ggml.tokens", gguf::ArrayValue(std::move(texts)));
  metadata.add("tokenizer.ggml.token_type", gguf::ArrayValue(std::move(types)));
  metadata.add("tokenizer.ggml.scores", gguf::ArrayValue(std::move(scores)));
  return metadata;
}

// "\x20" -> "\xc4\xa0" (U+0120) and so on: one byte in GPT-2's alphabet.
inline std::string alphabet_character(int byte) {
  const bool itself = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  int shifted = 0x100;
  for (int b = 0; b < byte; ++b) {
    if (!((b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae)) ++shifted;
  }
  std::string text;
  utf8_append(text, static_cast<uint32_t>(itself ? byte : shifted));
  return text;
}

// The 256 bytes as tokens 0..255, then `more`.
inline std::vector<ForgedToken> byte_level_tokens(const std::vector<ForgedToken>& more) {
  std::vector<ForgedToken> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back({alphabet_character(byte)});
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

inline gguf::Metadata forge_bpe(const std::vector<ForgedToken>& more, std::vector<std::string> merges,
                                const std::string& pre = "gpt-2") {
  gguf::Metadata metadata = forge("gpt2", byte_level_tokens(more));
  metadata.add("tokenizer.ggml.pre", pre);
  metadata.add("tokenizer.ggml.merges", gguf::ArrayValue(std::move(merges)));
  return metadata;
}

// <unk>, <s>, </s>, the 256 byte tokens 3..258, then `more`.
inline gguf::Metadata forge_spm(const std::vector<ForgedToken>& more) {
  std::vector<ForgedToken> tokens = {
      {"<unk>", TokenType::kUnknown}, {"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}};
  constexpr char kHex[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back({std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">", TokenType::kByte});
  }
  tokens.insert(tokens.end(), more.begin(), more.end());
  return forge("llama", tokens);
}

constexpr TokenId kFirstSpmExtra = 259;
constexpr TokenId kFirstBpeExtra = 256;

}  // namespace lockstep::tokenizer
