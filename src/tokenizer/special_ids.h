// Tokens with a role: begin and end of text, end of turn, fill-in-the-middle marks. They come from the metadata; where
// the file is silent, from token texts that are known to play the role (the lists that llama.cpp of 2026 uses).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gguf/metadata.h"
#include "tokenizer/token_types.h"

namespace lockstep::tokenizer {

struct SpecialIds {
  std::optional<TokenId> bos, eos, eot, eom, unknown, padding;
  std::optional<TokenId> fim_prefix, fim_suffix, fim_middle, fim_padding, fim_repository, fim_separator;
  bool add_bos = false;
  bool add_eos = false;
  std::vector<TokenId> end_of_generation;  // ascending, no duplicates
};

// Fills the roles from metadata and token texts, and settles the types that follow from them: a text known to end a
// turn is a control token whatever the file says. `texts` are the texts as stored. `roles` holds the defaults on entry.
void assign_roles(const gguf::Metadata& metadata, const std::vector<std::string>& texts, std::vector<Token>& tokens,
                  SpecialIds& roles, std::vector<std::string>& warnings);

}  // namespace lockstep::tokenizer
