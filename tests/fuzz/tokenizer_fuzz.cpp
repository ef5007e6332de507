// Any text through every kind of tokenizer: one byte chooses it, one the options, the rest is the text.
#include <map>

#include "fuzz/round_trip.h"
#include "tokenizer/forged_vocab_test.h"
#include "tokenizer/pretokenizer_patterns.h"

namespace lockstep::fuzz {
namespace {

using tokenizer::TokenType;

// Two pieces of each length that merge, some Unicode, control and user-defined tokens.
const std::vector<tokenizer::ForgedToken>& extra_tokens() {
  static const std::vector<tokenizer::ForgedToken> tokens = {{"he"},
                                                             {"ll"},
                                                             {"hell", TokenType::kNormal, -1},
                                                             {"hello"},
                                                             {"12"},
                                                             {"123"},
                                                             {"  "},
                                                             {"\n\n"},
                                                             {"\xc3\xa9"},
                                                             {"<|x|>", TokenType::kControl},
                                                             {"<|xy|>", TokenType::kControl},
                                                             {"[U]", TokenType::kUserDefined}};
  return tokens;
}

Tokenizer load(size_t choice) {
  const auto specs = tokenizer::all_pretokenizers();
  if (choice < specs.size() && specs[choice].coding == tokenizer::TextCoding::kByteLevel) {
    std::vector<tokenizer::ForgedToken> tokens = {{"he"}, {"ll"}, {"hell"}, {"hello"}, {"12"}, {"123"}};
    tokens.push_back({"<|x|>", TokenType::kControl});
    tokens.push_back({"[U]", TokenType::kUserDefined});
    return Tokenizer::load(tokenizer::forge_bpe(tokens, {"h e", "l l", "he ll", "hell o", "1 2", "12 3"},
                                                std::string(specs[choice].name)));
  }
  gguf::Metadata metadata = tokenizer::forge_spm(extra_tokens());
  metadata.add("tokenizer.ggml.add_space_prefix", choice % 2 == 0);
  return Tokenizer::load(metadata);
}

const Tokenizer& tokenizer_of(size_t choice) {
  static std::map<size_t, Tokenizer> loaded;
  const auto place = loaded.find(choice);
  return place != loaded.end() ? place->second : loaded.emplace(choice, load(choice)).first->second;
}

void check_text(const Tokenizer& tokenizer, const std::string& text, bool spells_spaces) {
  const std::vector<TokenId> ids = check_encoding(tokenizer, text, {});
  require(tokenizer.spells_all_bytes(), "these vocabularies spell every byte");
  require(tokenizer.decode(ids, {}) == (spells_spaces ? with_real_spaces(text) : text), "decode(encode(s)) == s");
  for (const TokenId id : ids) require(!tokenizer.is_control(id), "plain text names no control token");
}

// A user's text between two of a template's: cut anywhere, it is the same text.
void check_pieces(const Tokenizer& tokenizer, const std::string& text, size_t cut) {
  const std::string_view all = text;
  const std::vector<tokenizer::TextPiece> pieces = {{all.substr(0, cut)}, {all.substr(cut)}};
  require(tokenizer.encode(pieces, false) == tokenizer.encode(text, {}), "where a text is cut does not matter");
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  fuzz::FuzzInput input(data, size);
  const size_t n_kinds = tokenizer::all_pretokenizers().size() + 2;
  const size_t choice = input.number<uint8_t>() % n_kinds;
  const auto options = input.number<uint8_t>();
  const std::string text = input.rest();
  (void)fuzz::accepts([&] {
    const fuzz::Tokenizer& tokenizer = fuzz::tokenizer_of(choice);
    const bool spells_spaces = tokenizer.decode(tokenizer.encode("x\xe2\x96\x81y", {}), {}) == "x y";
    fuzz::check_text(tokenizer, text, spells_spaces);
    fuzz::check_pieces(tokenizer, text, text.empty() ? 0 : options % text.size());
    (void)fuzz::check_encoding(tokenizer, text,
                               {.add_special = (options & 1u) != 0, .parse_special = (options & 2u) != 0});
  });
  return 0;
}
