// Text to token ids and back, as the model behind a GGUF file expects it. Supported values of tokenizer.ggml.model:
// gpt2 (byte-level BPE), llama (SentencePiece style), gemma4 (BPE over UTF-8). For well-formed UTF-8 the ids are those
// of llama.cpp; other bytes are kept as bytes. For every byte string s, decode(encode(s)) == s as long as the
// vocabulary has a token for each byte; vocabularies that spell spaces as U+2581 give that character back as a space.
// Immutable after loading; every member function may be called from several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/metadata.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/chat_template_texts.h"
#include "tokenizer/fragment_encoder.h"
#include "tokenizer/fragment_memory.h"
#include "tokenizer/vocab.h"

namespace lockstep::tokenizer {

struct EncodeOptions {
  bool add_special = false;    // begin- and end-of-text tokens by the file's rule
  bool parse_special = false;  // names of control tokens in the text become those tokens
};

struct DecodeOptions {
  bool show_special = false;  // names of control tokens in the result
  bool continues = false;     // the ids follow others, so a leading space is part of the text
};

// A stretch of a prompt. Only in trusted ones (a chat template's own text) can control tokens be named: what a user
// writes never turns into one, not even together with the text around it.
struct TextPiece {
  std::string_view text;
  bool trusted = false;
};

class Tokenizer {
 public:
  // Errors: kUnsupported for another tokenizer model or pre-tokenizer, kBadFile for contradicting keys; each names the
  // key.
  static Tokenizer load(const gguf::Metadata& metadata);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const;

  // The pieces encoded as one text: merges cross their borders, as if the prompt had been one string.
  // `memory` saves work where the prompt repeats the one before; it never changes an id.
  [[nodiscard]] std::vector<TokenId> encode(std::span<const TextPiece> pieces, bool add_special,
                                            FragmentMemory& memory) const;
  [[nodiscard]] std::vector<TokenId> encode(std::span<const TextPiece> pieces, bool add_special) const;

  // Errors: kBadRequest for an id outside the vocabulary.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, DecodeOptions options) const;

  // No text of so many bytes has fewer tokens; 0 where nothing is known. So a prompt that cannot fit need not be
  // encoded.
  [[nodiscard]] uint64_t least_tokens(uint64_t n_bytes) const { return most_bytes_ == 0 ? 0 : n_bytes / most_bytes_; }

  // The bytes that the token stands for; for a control token its name. Valid as long as this tokenizer.
  [[nodiscard]] std::string_view piece(TokenId id) const;

  // Appends what `id` adds to a text. `at_start` is true where a text begins and is kept up to date: there,
  // vocabularies that put a space before every text lose it again.
  void append_piece(TokenId id, bool show_special, bool& at_start, std::string& out) const;

  [[nodiscard]] size_t n_tokens() const { return vocab_->n_tokens(); }
  [[nodiscard]] bool is_control(TokenId id) const { return checked(id).is_control(); }
  [[nodiscard]] bool is_end_of_generation(TokenId id) const;  // false for ids outside the vocabulary
  [[nodiscard]] std::span<const TokenId> end_of_generation() const { return vocab_->special().end_of_generation; }
  [[nodiscard]] std::optional<TokenId> bos() const { return vocab_->special().bos; }
  [[nodiscard]] std::optional<TokenId> eos() const { return vocab_->special().eos; }
  [[nodiscard]] bool adds_bos() const { return vocab_->special().add_bos; }
  [[nodiscard]] bool adds_eos() const { return vocab_->special().add_eos; }
  [[nodiscard]] std::optional<TokenId> unknown() const { return vocab_->special().unknown; }
  [[nodiscard]] std::optional<TokenId> padding() const { return vocab_->special().padding; }
  [[nodiscard]] bool spells_all_bytes() const { return vocab_->spells_all_bytes(); }

  // The chat templates of the file; often one, named default.
  [[nodiscard]] const std::vector<ChatTemplateText>& chat_templates() const { return chat_templates_; }

  // One line for each oddity of the file that was tolerated.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Tokenizer() = default;
  [[nodiscard]] const Token& checked(TokenId id) const;
  [[nodiscard]] std::vector<TokenId> encode_trusting(std::string_view text, std::span<const ByteRange> trusted,
                                                     bool add_special, FragmentMemory& memory) const;

  std::unique_ptr<const Vocab> vocab_;
  std::unique_ptr<const AddedTokens> added_tokens_;
  std::unique_ptr<const FragmentEncoder> encoder_;
  uint64_t most_bytes_ = 0;    // of a text that one token can stand for, 0: any number
  bool space_prefix_ = false;  // a space is put before the text and after every added token
  std::vector<ChatTemplateText> chat_templates_;
  std::vector<std::string> warnings_;
};

}  // namespace lockstep::tokenizer
