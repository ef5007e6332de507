#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tokenizer/bpe.h"
#include "tokenizer/spelled_spaces.h"
#include "tokenizer/spm.h"

namespace lockstep::tokenizer {
namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";

const PretokenizerSpec& spec_of(const gguf::Metadata& metadata, std::string_view model) {
  if (model == "gemma4") return pretokenizer_spec(model);
  const std::string* name = metadata.find_string(kPreKey);
  if (name == nullptr || name->empty()) {
    fail(ErrorCode::kBadFile, "{} is missing: without the name of the pre-tokenizer the token ids would be wrong",
         kPreKey);
  }
  return pretokenizer_spec(*name);
}

Vocab::Defaults bpe_defaults(const PretokenizerSpec& spec) {
  Vocab::Defaults defaults;
  defaults.coding = spec.coding;
  defaults.add_bos = spec.add_bos || spec.always_adds_bos;
  defaults.always_add_bos = spec.always_adds_bos;
  return defaults;
}

Vocab::Defaults spm_defaults() {
  Vocab::Defaults defaults;
  defaults.coding = TextCoding::kSpelledSpaces;
  defaults.add_bos = true;
  defaults.ids.unknown = 0;  // the ids of the first Llama vocabulary
  defaults.ids.bos = 1;
  defaults.ids.eos = 2;
  return defaults;
}

// The most bytes of a text that one token can stand for; 0 when some vanish: swallowed by a token, or spelled by none.
uint64_t most_bytes_of_a_token(const Vocab& vocab, const std::vector<std::string>& texts) {
  const auto swallows = [](const Token& token) { return token.strip_left || token.strip_right; };
  if (!vocab.spells_all_bytes() || std::any_of(vocab.tokens().begin(), vocab.tokens().end(), swallows)) return 0;
  size_t most = 1;
  for (size_t i = 0; i < texts.size(); ++i) most = std::max({most, texts[i].size(), vocab.tokens()[i].bytes.size()});
  return vocab.coding() == TextCoding::kSpelledSpaces ? most * kSpelledSpace.size() : most;
}

}  // namespace

Tokenizer Tokenizer::load(const gguf::Metadata& metadata) {
  const std::string& model = metadata.get_string(kModelKey);
  Tokenizer tokenizer;
  if (model == "llama") {
    tokenizer.vocab_ = std::make_unique<const Vocab>(Vocab::load(metadata, spm_defaults()));
    tokenizer.warnings_ = tokenizer.vocab_->warnings();
    tokenizer.space_prefix_ = metadata.find_bool("tokenizer.ggml.add_space_prefix").value_or(true);
    tokenizer.encoder_ = std::make_unique<const SpmEncoder>(*tokenizer.vocab_, tokenizer.space_prefix_);
  } else if (model == "gpt2" || model == "gemma4") {
    const PretokenizerSpec& spec = spec_of(metadata, model);
    tokenizer.vocab_ = std::make_unique<const Vocab>(Vocab::load(metadata, bpe_defaults(spec)));
    tokenizer.warnings_ = tokenizer.vocab_->warnings();
    MergeTable merges = MergeTable::load(metadata, *tokenizer.vocab_, tokenizer.warnings_);
    tokenizer.encoder_ = std::make_unique<const BpeEncoder>(*tokenizer.vocab_, std::move(merges), Pretokenizer(spec));
  } else {
    fail(ErrorCode::kUnsupported, "{} is {}: gpt2, llama and gemma4 are supported", kModelKey, printable(model));
  }
  const auto* texts = metadata.find_array<std::string>("tokenizer.ggml.tokens");  // there, Vocab::load saw it
  tokenizer.added_tokens_ = std::make_unique<const AddedTokens>(*tokenizer.vocab_, *texts);
  tokenizer.most_bytes_ = most_bytes_of_a_token(*tokenizer.vocab_, *texts);
  tokenizer.chat_templates_ = read_chat_templates(metadata);
  return tokenizer;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  const ByteRange whole{0, text.size()};
  FragmentMemory nothing;
  return encode_trusting(text, std::span(&whole, options.parse_special ? 1 : 0), options.add_special, nothing);
}

std::vector<TokenId> Tokenizer::encode(std::span<const TextPiece> pieces, bool add_special) const {
  FragmentMemory nothing;
  return encode(pieces, add_special, nothing);
}

std::vector<TokenId> Tokenizer::encode(std::span<const TextPiece> pieces, bool add_special,
                                       FragmentMemory& memory) const {
  std::string text;
  std::vector<ByteRange> trusted;
  for (const TextPiece& piece : pieces) {
    const ByteRange range{text.size(), text.size() + piece.text.size()};
    text += piece.text;
    if (!piece.trusted || piece.text.empty()) continue;
    if (!trusted.empty() && trusted.back().end == range.begin) {
      trusted.back().end = range.end;
    } else {
      trusted.push_back(range);
    }
  }
  return encode_trusting(text, trusted, add_special, memory);
}

std::vector<TokenId> Tokenizer::encode_trusting(std::string_view text, std::span<const ByteRange> trusted,
                                                bool add_special, FragmentMemory& memory) const {
  const SpecialIds& special = vocab_->special();
  std::vector<TokenId> ids;
  if (add_special && special.add_bos) ids.push_back(*special.bos);
  memory.begin_prompt();
  for (const Fragment& fragment : added_tokens_->split(text, trusted)) {
    if (fragment.id >= 0) {
      ids.push_back(fragment.id);
      continue;
    }
    const std::string_view stretch = text.substr(fragment.begin, fragment.end - fragment.begin);
    const std::vector<TokenId>& ordinary = memory.ids_of(stretch, *encoder_);
    ids.insert(ids.end(), ordinary.begin(), ordinary.end());
  }
  if (add_special && special.add_eos) ids.push_back(*special.eos);
  return ids;
}

const Token& Tokenizer::checked(TokenId id) const {
  if (id < 0 || static_cast<size_t>(id) >= n_tokens()) {
    fail(ErrorCode::kBadRequest, "token id {} is not in the vocabulary: ids go from 0 to {}", id, n_tokens() - 1);
  }
  return vocab_->token(id);
}

std::string_view Tokenizer::piece(TokenId id) const {
  return checked(id).bytes;
}

bool Tokenizer::is_end_of_generation(TokenId id) const {
  const auto& set = vocab_->special().end_of_generation;
  return std::binary_search(set.begin(), set.end(), id);
}

void Tokenizer::append_piece(TokenId id, bool show_special, bool& at_start, std::string& out) const {
  const Token& token = checked(id);
  if (token.is_control()) {
    if (show_special || token.always_shown) out += token.bytes;
    at_start = true;
    return;
  }
  std::string_view bytes = token.bytes;
  if (space_prefix_ && at_start && !bytes.empty() && bytes.front() == ' ' && token.type != TokenType::kUserDefined)
    bytes.remove_prefix(1);
  out += bytes;
  at_start = token.type == TokenType::kUserDefined;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  std::string text;
  bool at_start = !options.continues;
  for (const TokenId id : ids) append_piece(id, options.show_special, at_start, text);
  return text;
}

}  // namespace lockstep::tokenizer
