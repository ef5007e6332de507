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

// What a token adds to a text. Added tokens (control, user-defined) stand for their own text in byte-level
// vocabularies.
std::string bytes_of(const Token& token, TokenId id, const std::string& text, TextCoding coding) {
  if (token.is_control()) return text;
  if (token.type == TokenType::kByte) {
    const auto value = byte_token_value(text);
    if (!value)
      fail(ErrorCode::kBadFile, "{}: token {} has type byte and text {}, expected <0xNN>", kTokensKey, id,
           printable(text));
    return {static_cast<char>(*value)};
  }
  if (coding == TextCoding::kSpelledSpaces) return with_real_spaces(text);
  if (coding == TextCoding::kPlain || token.type == TokenType::kUserDefined) return text;
  return bytes_of_alphabet(text).value_or(text);
}

// Whether ordinary text may turn into this token by merging.
bool is_reachable(const Token& token, const std::string& text, TextCoding coding) {
  if (token.is_control() || token.type == TokenType::kByte || text.empty()) return false;
  switch (coding) {
    case TextCoding::kByteLevel: {
      const auto spelled = bytes_of_alphabet(text);
      return spelled && *spelled == token.bytes;
    }
    case TextCoding::kSpelledSpaces:
      return text.find(' ') == std::string::npos;  // spaces arrive spelled, never as they are
    case TextCoding::kPlain:
      return true;
  }
  return false;
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
  for (size_t i = 0; i < texts.size(); ++i) {
    vocab.tokens_[i].bytes = bytes_of(vocab.tokens_[i], static_cast<TokenId>(i), texts[i], defaults.coding);
  }
  set_strip_rules(metadata, texts, vocab.tokens_);
  vocab.index_texts(texts);
  vocab.index_bytes();
  return vocab;
}

void Vocab::index_texts(const std::vector<std::string>& texts) {
  size_t n_same = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (!is_reachable(tokens_[i], texts[i], coding_)) continue;
    if (!index_.insert(tokens_[i].bytes, static_cast<TokenId>(i))) ++n_same;
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
  const TokenId whole = find(kReplacement);
  for (const char c : kReplacement) {
    const TokenId id = whole >= 0 ? whole : byte_id(static_cast<uint8_t>(c));
    if (id < 0) break;
    replacement_.push_back(id);
    if (whole >= 0) break;
  }
  const bool spelled = whole >= 0 || replacement_.size() == kReplacement.size();
  if (!spelled) replacement_.clear();
  if (!spelled && special_.unknown) replacement_ = {*special_.unknown};
  if (missing_bytes_ != 0) {
    warnings_.push_back(fmt::format("{} of the 256 bytes have no token: they are encoded as {}", missing_bytes_,
                                    spelled            ? "U+FFFD"
                                    : special_.unknown ? "the unknown token"
                                                       : "nothing"));
  }
}

void Vocab::append_byte(uint8_t byte, std::vector<TokenId>& out) const {
  const TokenId id = byte_id(byte);
  if (id >= 0) {
    out.push_back(id);
  } else {
    out.insert(out.end(), replacement_.begin(), replacement_.end());
  }
}

}  // namespace lockstep::tokenizer
