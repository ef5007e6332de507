// A vocabulary for tests: the bytes, then control tokens with these names. Safe from several threads.
#pragma once

#include <string>
#include <vector>

#include "tokenizer/forged_vocab_test.h"

namespace lockstep::chat {

inline gguf::Metadata vocabulary_with(const std::vector<std::string>& control_names) {
  std::vector<tokenizer::ForgedToken> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back({tokenizer::alphabet_character(byte)});
  for (const std::string& name : control_names) tokens.push_back({name, tokenizer::TokenType::kControl});
  gguf::Metadata metadata = tokenizer::forge("gpt2", tokens);
  metadata.add("tokenizer.ggml.pre", std::string("gpt-2"));
  metadata.add("tokenizer.ggml.merges", gguf::ArrayValue(std::vector<std::string>()));
  return metadata;
}

}  // namespace lockstep::chat
