// A vocabulary made of the input's bytes, and a text through it.
#include "fuzz/round_trip.h"
#include "gguf/metadata.h"
#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/pretokenizer_patterns.h"

namespace lockstep::fuzz {
namespace {

using gguf::ArrayValue;

constexpr int64_t kMostTokens = 300;
constexpr int64_t kMostMerges = 100;

// Besides what the input spells, all bytes where it says so: else few vocabularies could spell a text.
void add_tokens(FuzzInput& input, bool byte_level, gguf::Metadata& metadata) {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  std::vector<float> scores;
  if (input.flag()) {
    for (int byte = 0; byte < 256; ++byte) {
      constexpr const char* kDigits = "0123456789ABCDEF";
      texts.push_back(byte_level ? tokenizer::alphabet_character(byte)
                                 : std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
      types.push_back(byte_level ? 1 : 6);
      scores.push_back(0);
    }
  }
  for (int64_t n = input.below(kMostTokens); n > 0; --n) {
    texts.push_back(input.short_text());
    types.push_back(input.number<int8_t>() % 8);
    scores.push_back(input.number<float>());
  }
  const auto faults = input.number<uint8_t>();
  if ((faults & 1u) != 0 && !scores.empty()) scores.pop_back();
  if ((faults & 2u) != 0 && !types.empty()) types.pop_back();
  metadata.add("tokenizer.ggml.tokens", ArrayValue(std::move(texts)));
  if ((faults & 4u) == 0) metadata.add("tokenizer.ggml.token_type", ArrayValue(std::move(types)));
  if ((faults & 8u) == 0) metadata.add("tokenizer.ggml.scores", ArrayValue(std::move(scores)));
}

void add_merges(FuzzInput& input, gguf::Metadata& metadata) {
  std::vector<std::string> merges;
  for (int64_t n = input.below(kMostMerges); n > 0; --n) merges.push_back(input.short_text());
  metadata.add("tokenizer.ggml.merges", ArrayValue(std::move(merges)));
}

void add_ids(FuzzInput& input, gguf::Metadata& metadata) {
  for (const char* name : {"bos", "eos", "eot", "eom", "unknown", "padding", "separator"}) {
    const auto choice = input.number<uint8_t>();
    if (choice == 0) continue;
    const uint32_t id = choice == 255 ? input.number<uint32_t>() : choice - 1u;
    metadata.add("tokenizer.ggml." + std::string(name) + "_token_id", id);
  }
  const auto flags = input.number<uint8_t>();
  constexpr const char* kFlags[] = {"add_bos_token", "add_eos_token", "add_space_prefix"};
  for (unsigned i = 0; i < 3; ++i) {
    if ((flags >> (2 * i) & 1u) != 0)
      metadata.add("tokenizer.ggml." + std::string(kFlags[i]), (flags >> (2 * i + 1) & 1u) != 0);
  }
}

gguf::Metadata vocabulary(FuzzInput& input) {
  gguf::Metadata metadata;
  const auto kind = input.below(3);
  constexpr const char* kModels[] = {"gpt2", "llama", "gemma4"};
  metadata.add("tokenizer.ggml.model", std::string(kModels[kind]));
  const auto specs = tokenizer::all_pretokenizers();
  metadata.add("tokenizer.ggml.pre", std::string(specs[input.number<uint8_t>() % specs.size()].name));
  add_tokens(input, kind == 0, metadata);
  if (kind != 1) add_merges(input, metadata);
  add_ids(input, metadata);
  return metadata;
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  fuzz::FuzzInput input(data, size);
  (void)fuzz::accepts([&] {
    const fuzz::Tokenizer tokenizer = fuzz::Tokenizer::load(fuzz::vocabulary(input));
    const std::string text = input.rest();
    const std::vector<fuzz::TokenId> ids = fuzz::check_encoding(tokenizer, text, {});
    if (tokenizer.spells_all_bytes() && tokenizer.warnings().empty()) {
      fuzz::require(
          fuzz::with_real_spaces(tokenizer.decode(ids, {.show_special = true})) == fuzz::with_real_spaces(text),
          "decode(encode(s)) == s");
    }
    (void)fuzz::check_encoding(tokenizer, text, {.add_special = true, .parse_special = true});
    for (size_t id = 0; id < tokenizer.n_tokens(); ++id) (void)tokenizer.piece(static_cast<fuzz::TokenId>(id));
    for (const fuzz::TokenId id : tokenizer.end_of_generation())
      fuzz::require(tokenizer.is_end_of_generation(id), "the end tokens end an answer");
  });
  return 0;
}
