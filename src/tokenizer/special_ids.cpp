#include "tokenizer/special_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/keyed_hash.h"

namespace lockstep::tokenizer {
namespace {

// Texts are spelled with escapes: U+FF5C is EF BD 9C, U+2581 is E2 96 81.
#define LOCKSTEP_DEEPSEEK(a, b) "<\xef\xbd\x9c" a "\xe2\x96\x81" b "\xef\xbd\x9c>"
constexpr std::string_view kDeepseekEnd =
    "<\xef\xbd\x9c"
    "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>";

constexpr auto kEndOfTurn = std::to_array<std::string_view>({"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",
                                                             "<|endoftext|>", "<|end_of_text|>", "<EOT>", "_<EOT>",
                                                             "[EOT]", kDeepseekEnd, "<end_of_utterance>"});
constexpr auto kEndOfMessage = std::to_array<std::string_view>({"<|eom_id|>"});
constexpr auto kFimPrefix = std::to_array<std::string_view>({"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",
                                                             LOCKSTEP_DEEPSEEK("fim", "begin"), "<PRE>",
                                                             "\xe2\x96\x81<PRE>", "<|code_prefix|>", "<|prefix|>"});
constexpr auto kFimSuffix =
    std::to_array<std::string_view>({"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", LOCKSTEP_DEEPSEEK("fim", "hole"),
                                     "<SUF>", "\xe2\x96\x81<SUF>", "<|code_suffix|>", "<|suffix|>"});
constexpr auto kFimMiddle =
    std::to_array<std::string_view>({"<|fim_middle|>", "<fim-middle>", "<fim_middle>", LOCKSTEP_DEEPSEEK("fim", "end"),
                                     "<MID>", "\xe2\x96\x81<MID>", "<|code_middle|>", "<|middle|>"});
constexpr auto kFimPadding =
    std::to_array<std::string_view>({"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"});
constexpr auto kFimRepository =
    std::to_array<std::string_view>({"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"});
constexpr auto kFimSeparator = std::to_array<std::string_view>({"<|file_sep|>"});
#undef LOCKSTEP_DEEPSEEK

// Whatever else the file says, generation ends at these.
constexpr auto kEndOfGeneration = std::to_array<std::string_view>({"<|eot_id|>",
                                                                   "<|im_end|>",
                                                                   "<|end|>",
                                                                   "<|return|>",
                                                                   "<|call|>",
                                                                   "<|flush|>",
                                                                   "<|calls|>",
                                                                   "<end_of_turn>",
                                                                   "<|endoftext|>",
                                                                   "</s>",
                                                                   "<|eom_id|>",
                                                                   "<EOT>",
                                                                   "_<EOT>",
                                                                   "[EOT]",
                                                                   "[EOS]",
                                                                   "<|end_of_text|>",
                                                                   "<end_of_utterance>",
                                                                   "<eos>",
                                                                   "<turn|>",
                                                                   "<|tool_response>",
                                                                   kDeepseekEnd,
                                                                   "[e~["});

// Marks of gpt-oss that structure an answer: control tokens whose names must not vanish from decoded text.
constexpr auto kAlwaysShown =
    std::to_array<std::string_view>({"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"});

class Roles {
 public:
  Roles(const std::vector<std::string>& texts, std::vector<Token>& tokens, std::vector<std::string>& warnings)
      : tokens_(tokens), warnings_(warnings) {
    by_text_.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      if (may_have_role(texts[i])) by_text_.emplace(texts[i], static_cast<TokenId>(i));  // the lowest id stays
    }
  }

  void read_id(const gguf::Metadata& metadata, std::string_view key, std::optional<TokenId>& id) {
    if (id && static_cast<size_t>(*id) >= tokens_.size()) id.reset();  // a default beyond a small vocabulary
    const auto stored = metadata.find_uint(key);
    if (!stored) return;
    id.reset();
    if (*stored < tokens_.size()) {
      id = static_cast<TokenId>(*stored);
    } else if (*stored != kNoId32 && *stored != kNoId64) {
      warnings_.push_back(
          fmt::format("{} is {}, outside the vocabulary of {} tokens: none is used", key, *stored, tokens_.size()));
    } else {
      warnings_.push_back(fmt::format("{} is {} (-1): none is used", key, *stored));
    }
  }

  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const {
    const auto found = by_text_.find(text);
    return found == by_text_.end() ? std::nullopt : std::optional(found->second);
  }

  // The first of `names` that is a token takes a role that the file left open.
  void find_by_text(std::span<const std::string_view> names, std::optional<TokenId>& id) {
    for (const std::string_view name : names) {
      if (id) return;
      id = find(name);
      if (id) make_control(*id, name);
    }
  }

  void make_control(TokenId id, std::string_view name) {
    Token& token = tokens_[static_cast<size_t>(id)];
    if (token.type == TokenType::kControl) return;
    token.type = TokenType::kControl;
    warnings_.push_back(fmt::format("token {} {} is not marked as control: taken as one", id, printable(name)));
  }

  Token& token(TokenId id) { return tokens_[static_cast<size_t>(id)]; }

 private:
  static constexpr uint64_t kNoId32 = 0xffffffffu;
  static constexpr uint64_t kNoId64 = ~uint64_t{0};

  // All known names are short and end in a bracket or bar; the quick test keeps the map small.
  static bool may_have_role(std::string_view text) {
    return text.size() >= 4 && text.size() <= 40 && (text.back() == '>' || text.back() == ']' || text.back() == '[');
  }

  std::unordered_map<std::string_view, TokenId, TextHash> by_text_;
  std::vector<Token>& tokens_;
  std::vector<std::string>& warnings_;
};

void read_ids(const gguf::Metadata& metadata, Roles& roles, SpecialIds& ids) {
  const std::string prefix = "tokenizer.ggml.";
  const auto read = [&](std::string_view name, std::optional<TokenId>& id) {
    roles.read_id(metadata, prefix + std::string(name), id);
  };
  read("bos_token_id", ids.bos);
  read("eos_token_id", ids.eos);
  read("eot_token_id", ids.eot);
  read("eom_token_id", ids.eom);
  read("unknown_token_id", ids.unknown);
  read("padding_token_id", ids.padding);
  read("prefix_token_id", ids.fim_prefix);  // the three names of before 2024
  read("suffix_token_id", ids.fim_suffix);
  read("middle_token_id", ids.fim_middle);
  read("fim_pre_token_id", ids.fim_prefix);
  read("fim_suf_token_id", ids.fim_suffix);
  read("fim_mid_token_id", ids.fim_middle);
  read("fim_pad_token_id", ids.fim_padding);
  read("fim_rep_token_id", ids.fim_repository);
  read("fim_sep_token_id", ids.fim_separator);
}

// Texts that end a turn in one family and are ordinary in another.
std::vector<TokenId> ordinary_after_all(const Roles& roles) {
  std::vector<TokenId> ids;
  // gpt-oss and solar-open end a message with <|end|> and go on; the turn ends elsewhere.
  const auto has = [&](std::string_view text) { return roles.find(text).has_value(); };
  const bool call = has("<|call|>") || has("<|calls|>");
  const auto end = roles.find("<|end|>");
  if (end && call && (has("<|return|>") || has("<|flush|>"))) ids.push_back(*end);
  // Gemma 4 and PLaMo hold an ordinary </s>.
  const auto s = roles.find("</s>");
  if (s && (has("<|tool_response>") || has("<|plamo:eos|>"))) ids.push_back(*s);
  return ids;
}

void collect_end_of_generation(Roles& roles, SpecialIds& ids) {
  std::vector<TokenId>& set = ids.end_of_generation;
  for (const auto& id : {ids.fim_padding, ids.fim_repository, ids.fim_separator, ids.eos, ids.eot, ids.eom}) {
    if (id) set.push_back(*id);
  }
  const std::vector<TokenId> ordinary = ordinary_after_all(roles);
  const auto is_ordinary = [&](TokenId id) {
    return std::find(ordinary.begin(), ordinary.end(), id) != ordinary.end();
  };
  for (const std::string_view text : kEndOfGeneration) {
    const auto id = roles.find(text);
    if (!id || is_ordinary(*id)) continue;
    set.push_back(*id);
    roles.make_control(*id, text);
  }
  for (const TokenId id : ordinary) {
    if (id != ids.eos) std::erase(set, id);
    Token& token = roles.token(id);
    if (id == roles.find("</s>")) {
      token.type = TokenType::kNormal;
    } else {
      token.always_shown = true;
    }
  }
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
}

void read_add_flag(const gguf::Metadata& metadata, std::string_view key, const std::optional<TokenId>& id, bool& add,
                   std::vector<std::string>& warnings) {
  add = metadata.find_bool(key).value_or(add);
  if (!add || id) return;
  add = false;
  warnings.push_back(fmt::format("{} asks for a token that the vocabulary does not name: none is added", key));
}

}  // namespace

void assign_roles(const gguf::Metadata& metadata, const std::vector<std::string>& texts, std::vector<Token>& tokens,
                  SpecialIds& ids, std::vector<std::string>& warnings) {
  Roles roles(texts, tokens, warnings);
  read_ids(metadata, roles, ids);
  roles.find_by_text(kEndOfTurn, ids.eot);
  roles.find_by_text(kEndOfMessage, ids.eom);
  roles.find_by_text(kFimPrefix, ids.fim_prefix);
  roles.find_by_text(kFimSuffix, ids.fim_suffix);
  roles.find_by_text(kFimMiddle, ids.fim_middle);
  roles.find_by_text(kFimPadding, ids.fim_padding);
  roles.find_by_text(kFimRepository, ids.fim_repository);
  roles.find_by_text(kFimSeparator, ids.fim_separator);
  collect_end_of_generation(roles, ids);
  for (const std::string_view text : kAlwaysShown) {
    if (const auto id = roles.find(text)) roles.token(*id).always_shown = true;
  }
  read_add_flag(metadata, "tokenizer.ggml.add_bos_token", ids.bos, ids.add_bos, warnings);
  read_add_flag(metadata, "tokenizer.ggml.add_eos_token", ids.eos, ids.add_eos, warnings);
}

}  // namespace lockstep::tokenizer
