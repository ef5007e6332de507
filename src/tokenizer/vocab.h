// The tokens of a GGUF file, checked: what every id stands for, which id spells a byte string, and the ids with a role.
// Built once from metadata, immutable afterwards; safe to read from several threads.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/metadata.h"
#include "tokenizer/special_ids.h"
#include "tokenizer/text_index.h"
#include "tokenizer/token_types.h"

namespace lockstep::tokenizer {

class Vocab {
 public:
  // What the model and pre-tokenizer names say before the file's own keys are looked at.
  struct Defaults {
    TextCoding coding = TextCoding::kByteLevel;
    bool add_bos = false;
    bool always_add_bos = false;  // whatever the file says
    SpecialIds ids;               // those that the tokenizer model assumes when the file names none
  };

  // Reads tokenizer.ggml.{tokens,scores,token_type,*_token_id,add_*_token}. Faults of length, element type and byte
  // spelling are errors naming the key; an id out of range becomes none, with a warning.
  static Vocab load(const gguf::Metadata& metadata, const Defaults& defaults);

  Vocab(Vocab&&) = default;
  Vocab& operator=(Vocab&&) = default;
  Vocab(const Vocab&) = delete;  // the index holds views of the tokens
  Vocab& operator=(const Vocab&) = delete;
  ~Vocab() = default;

  [[nodiscard]] size_t n_tokens() const { return tokens_.size(); }
  [[nodiscard]] const Token& token(TokenId id) const { return tokens_[static_cast<size_t>(id)]; }
  [[nodiscard]] const std::vector<Token>& tokens() const { return tokens_; }
  [[nodiscard]] TextCoding coding() const { return coding_; }
  [[nodiscard]] const SpecialIds& special() const { return special_; }

  // The lowest id that ordinary text may use for exactly `bytes`, or -1. Control and byte tokens are never found.
  [[nodiscard]] TokenId find(std::string_view bytes) const { return index_.find(bytes); }
  [[nodiscard]] size_t longest_text() const { return index_.longest_key(); }

  // The id for one byte that no longer token covers, or -1.
  [[nodiscard]] TokenId byte_id(uint8_t byte) const { return byte_ids_[byte]; }
  [[nodiscard]] bool spells_all_bytes() const { return missing_bytes_ == 0; }

  // Appends the ids for `byte`; for a byte that the vocabulary cannot spell, those of U+FFFD, or else the unknown
  // token.
  void append_byte(uint8_t byte, std::vector<TokenId>& out) const;

  // One line for each oddity that was tolerated.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  explicit Vocab(std::vector<Token> tokens);
  void index_texts(const std::vector<std::string>& texts);
  void index_bytes();
  void set_replacement();

  std::vector<Token> tokens_;
  TextIndex index_;
  TextCoding coding_ = TextCoding::kByteLevel;
  SpecialIds special_;
  std::array<TokenId, 256> byte_ids_{};
  size_t missing_bytes_ = 0;
  std::vector<TokenId> replacement_;  // see append_byte
  std::vector<std::string> warnings_;
};

// The byte that a text of the form <0xNN> names (exactly two hexadecimal digits).
[[nodiscard]] std::optional<uint8_t> byte_token_value(std::string_view text);

}  // namespace lockstep::tokenizer
