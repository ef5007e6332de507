// Which added tokens swallow the white space beside them. GGUF files do not say; this follows the families that
// llama.cpp knows by name (phi-3, the jina and nomic encoders, ModernBERT).
#pragma once

#include <string>
#include <vector>

#include "gguf/metadata.h"
#include "tokenizer/token_types.h"

namespace lockstep::tokenizer {

// Sets strip_left and strip_right of `tokens`; `texts` are their texts as stored.
void set_strip_rules(const gguf::Metadata& metadata, const std::vector<std::string>& texts, std::vector<Token>& tokens);

}  // namespace lockstep::tokenizer
