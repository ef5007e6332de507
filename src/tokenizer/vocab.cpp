#include "tokenizer/vocab.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/spelled_spaces.h"
#include "tokenizer/strip_rules.h"

namespace lockstep::tokenizer {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

const std::vector<std::string>& read_texts(const gguf::Metadata& metadata) {
  const auto* texts = metadata.find_array<std::string>(kTokensKey);
  if (texts == nullptr) fail(ErrorCode::kBadFile, "{} is missing: the file has no vocabulary", kTokensKey);
  if (texts->empty()) fail(ErrorCode::kBadFile, "{} is empty: a vocabulary needs at least one token", kTokensKey);
  constexpr auto kMost = static_cast<size_t>(std::numeric_limits<TokenId>::max());
  if (texts->size() > kMost)
    fail(ErrorCode::kBadFile, "{} holds {} tokens, more than {}", kTokensKey, texts->size(), kMost);
  return *texts;
}

// An array that runs beside the tokens: absent, or exactly as long.
template <typename T>
const std::vector<T>* read_parallel(const gguf::Metadata& metadata, std::string_view key, size_t n_tokens) {
  const auto* values = metadata.find_array<T>(key);
  if (values != nullptr && values->size() != n_tokens) {
    fail(ErrorCode::kBadFile, "{} holds {} values, {} holds {}: one for each token was expected", key, values->size(),
         kTokensKey, n_tokens);
  }
  return values;
}

void read_types(const gguf::Metadata& metadata, const std::vector<std::string>& texts, TextCoding coding,
                std::vector<Token>& tokens, std::vector<std::string>& warnings) {
  const auto* types = read_parallel<int32_t>(metadata, kTypesKey, tokens.size());
  size_t n_odd = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (types == nullptr) {  // without types, spelling alone tells a byte token
      if (coding != TextCoding::kByteLevel && byte_token_value(texts[i])) tokens[i].type = TokenType::kByte;
      continue;
    }
    const int32_t type = (*types)[i];
    const bool known = type >= 1 && type <= 6;
    if (known) tokens[i].type = static_cast<TokenType>(type);
    n_odd += known ? 0 : 1;
  }
  if (n_odd != 0)
    warnings.push_back(fmt::format("{}: {} tokens have a type outside 1..6: taken as ordinary", kTypesKey, n_odd));
}

void read_scores(const gguf::Metadata& metadata, std::vector<Token>& tokens) {
  const auto* scores = read_parallel<float>(metadata, kScoresKey, tokens.size());
  if (scores == nullptr) return;
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].score = (*scores)[i];
    if (std::isnan(tokens[i].score))
      fail(ErrorCode::kBadFile, "{}: the score of token {} is not a number", kScoresKey, i);
  }
}

// What a token adds to a text, and whether ordinary text may turn into it by merging.
struct Meaning {
  std::string bytes;
  bool reachable;
};

Meaning byte_token(TokenId id, const std::string& text) {
  const auto value = byte_token_value(text);
  if (!value) {
    fail(ErrorCode::kBadFile, "{}: token {} has type byte and text {}, expected <0xNN>", kTokensKey, id,
         printable(text));
  }
  return {{static_cast<char>(*value)}, false};
}

// Added tokens stand for their own text. A user-defined one is met by merging too where its text spells itself.
Meaning meaning_of(const Token& token, TokenId id, const std::string& text, TextCoding coding) {
  if (token.is_control()) return {text, false};
  if (token.type == TokenType::kByte) return byte_token(id, text);
  if (coding == TextCoding::kPlain) return {text, !text.empty()};
  if (coding == TextCoding::kSpelledSpaces) {  // spaces arrive spelled, so a text with a real one is never met
    return {with_real_spaces(text), !text.empty() && text.find(' ') == std::string::npos};
  }
  std::string bytes;
  if (!append_alphabet_bytes(text, bytes)) return {text, false};
  if (token.type == TokenType::kUserDefined && bytes != text) return {text, false};
  return {std::move(bytes), !text.empty()};
}

}  // namespace

std::optional<uint8_t> byte_token_value(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return std::nullopt;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

Vocab::Vocab(std::vector<Token> tokens) : tokens_(std::move(tokens)), index_(tokens_.size()) {
  byte_ids_.fill(-1);
}

Vocab Vocab::load(const gguf::Metadata& metadata, const Defaults& defaults) {
  const std::vector<std::string>& texts = read_texts(metadata);
  Vocab vocab{std::vector<Token>(texts.size())};
  vocab.coding_ = defaults.coding;
  vocab.special_ = defaults.ids;
  vocab.special_.add_bos = defaults.add_bos;
  read_types(metadata, texts, defaults.coding, vocab.tokens_, vocab.warnings_);
  read_scores(metadata, vocab.tokens_);
  assign_roles(metadata, texts, vocab.tokens_, vocab.special_, vocab.warnings_);
  if (defaults.always_add_bos && vocab.special_.bos && !vocab.special_.add_bos) {
    vocab.special_.add_bos = true;
    vocab.warnings_.push_back(
        "tokenizer.ggml.add_bos_token is false: this family needs it, so BOS is added all the same");
  }
  set_strip_rules(metadata, texts, vocab.tokens_);
  vocab.index_texts(texts);
  vocab.index_bytes();
  return vocab;
}

void Vocab::index_texts(const std::vector<std::string>& texts) {
  size_t n_same = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    Meaning meaning = meaning_of(tokens_[i], id, texts[i], coding_);
    tokens_[i].bytes = std::move(meaning.bytes);
    if (meaning.reachable && !index_.insert(tokens_[i].bytes, id)) ++n_same;
  }
  if (n_same != 0) {
    warnings_.push_back(
        fmt::format("{} tokens have the text of a lower id: the lower id is used for encoding", n_same));
  }
}

void Vocab::index_bytes() {
  for (size_t i = tokens_.size(); i-- > 0;) {  // backwards: the lowest id stays
    if (tokens_[i].type == TokenType::kByte)
      byte_ids_[static_cast<uint8_t>(tokens_[i].bytes[0])] = static_cast<TokenId>(i);
  }
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    if (byte_ids_[byte] < 0) byte_ids_[byte] = find({&c, 1});
    if (byte_ids_[byte] < 0) ++missing_bytes_;
  }
  if (missing_bytes_ == 0) return;
  set_replacement();
}

void Vocab::set_replacement() {
  if (coding_ != TextCoding::kByteLevel) {
    if (special_.unknown) replacement_ = {*special_.unknown};
    return;
  }
  const TokenId whole = find(kReplacement);
  if (whole >= 0) replacement_ = {whole};
  for (const char c : kReplacement) {
    const TokenId id = byte_id(static_cast<uint8_t>(c));
    if (whole < 0 && id >= 0) replacement_.push_back(id);
  }
}

// A byte-level vocabulary that lacks a byte lets go of it, as llama.cpp does; bytes that no well-formed text holds were
// U+FFFD there before they came to this.
void Vocab::append_byte(uint8_t byte, std::vector<TokenId>& out) const {
  const TokenId id = byte_id(byte);
  const bool in_utf8 = byte < 0xc0 || (byte > 0xc1 && byte < 0xf5);
  if (id >= 0) {
    out.push_back(id);
  } else if (coding_ != TextCoding::kByteLevel || !in_utf8) {
    out.insert(out.end(), replacement_.begin(), replacement_.end());
  }
}

}  // namespace lockstep::tokenizer
