// For tests only: a model whose output is known exactly. Attention and feed-forward add nothing (their last matrices
// are zero), embeddings are one-hot and the output matrix says which token follows which, so greedy decoding of token t
// gives next[t], whatever came before. At most 256 tokens: SentencePiece style, a token a byte after those that are
// named.
#pragma once

#include "forge/tiny_model.h"

namespace lockstep::forge {

struct SuccessorToken {
  std::string text;
  int32_t type = 1;  // 1 normal, 3 control, 6 byte
};

struct SuccessorChain {
  std::vector<SuccessorToken> tokens;  // 0 is <unk>, 1 <s>
  std::vector<int32_t> next;           // by token
};

// <unk>, <s>, then one token for each of `texts`, each followed by the one after it and the last by itself.
inline SuccessorChain chain_of(const std::vector<SuccessorToken>& texts) {
  SuccessorChain chain = {{{"<unk>", 2}, {"<s>", 3}}, {}};
  chain.tokens.insert(chain.tokens.end(), texts.begin(), texts.end());
  for (size_t i = 0; i < chain.tokens.size(); ++i)
    chain.next.push_back(static_cast<int32_t>(std::min(i + 1, chain.tokens.size() - 1)));
  return chain;
}

// Appends a token for each byte, as SentencePiece vocabularies spell it.
inline void append_byte_tokens(std::vector<SuccessorToken>& tokens, std::string_view bytes) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    tokens.push_back({std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", 6});
  }
}

// The matrices may have more rows than there are tokens; `next` may name such a row too.
inline TinyModel successor_model(const SuccessorChain& chain, int64_t n_padded_rows = 0) {
  TinyShape shape;
  shape.n_layers = 1;
  shape.types = {TensorType::kF32};
  shape.n_vocab = static_cast<int64_t>(chain.tokens.size()) + n_padded_rows;
  TinyModel model(shape);
  const auto set = [&](const std::string& name, const auto& value_of) {
    TinyTensor& tensor = model.tensor(name);
    std::vector<float> values(tensor.data.size() / sizeof(float));
    const auto width = static_cast<size_t>(tensor.shape[0]);
    for (size_t i = 0; i < values.size(); ++i) values[i] = value_of(i / width, i % width) ? 1.0f : 0.0f;
    std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  };
  set("blk.0.attn_output.weight", [](size_t, size_t) { return false; });
  set("blk.0.ffn_down.weight", [](size_t, size_t) { return false; });
  set("token_embd.weight", [](size_t row, size_t column) { return row == column; });
  set("output.weight", [&](size_t row, size_t column) {
    return column < chain.next.size() && chain.next[column] == static_cast<int32_t>(row);
  });
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  for (const SuccessorToken& token : chain.tokens) {
    texts.push_back(token.text);
    types.push_back(token.type);
  }
  model.set_key("tokenizer.ggml.tokens", gguf::ArrayValue(texts));
  model.set_key("tokenizer.ggml.token_type", gguf::ArrayValue(types));
  model.set_key("tokenizer.ggml.scores", gguf::ArrayValue(std::vector<float>(texts.size(), -1.0f)));
  return model;
}

}  // namespace lockstep::forge
