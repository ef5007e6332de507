// Test support: vocabularies of the golden data and of downloaded models, loaded once for each test program.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gguf/model_file.h"
#include "tokenizer/tokenizer.h"

namespace lockstep::tokenizer {

inline std::filesystem::path folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

inline const Tokenizer& loaded_tokenizer(const std::filesystem::path& file) {
  static std::map<std::string, Tokenizer> cache;
  const auto found = cache.find(file.string());
  if (found != cache.end()) return found->second;
  return cache.emplace(file.string(), Tokenizer::load(gguf::ModelFile::open(file).metadata())).first->second;
}

// "llama-bpe" -> the vocabulary-only file of that name.
inline const Tokenizer& golden_tokenizer(const std::string& name) {
  return loaded_tokenizer(folder_from("LOCKSTEP_GOLDEN") / "vocab" / ("ggml-vocab-" + name + ".gguf"));
}

inline const std::vector<std::string>& golden_vocab_names() {
  static const std::vector<std::string> names = {"llama-bpe", "qwen2",        "gpt-2", "starcoder",      "command-r",
                                                 "llama-spm", "deepseek-llm", "phi-3", "deepseek-coder", "gemma-4"};
  return names;
}

struct TextVector {
  std::string text;
  std::vector<TokenId> ids;          // no special tokens added or recognised
  std::vector<TokenId> ids_special;  // both
};

inline std::vector<TextVector> read_text_vectors(const std::filesystem::path& file) {
  std::vector<TextVector> vectors;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    vectors.push_back({json.at("text"), json.at("ids"), json.at("ids_special")});
  }
  return vectors;
}

}  // namespace lockstep::tokenizer

#define LOCKSTEP_NEEDS(variable) \
  if (std::getenv(variable) == nullptr) GTEST_SKIP() << variable " is not set: no data to compare with"
