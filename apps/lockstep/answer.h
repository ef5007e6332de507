// An answer of the model as `complete --json` gives it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/generate.h"
#include "json_text.h"

namespace lockstep {

// Everything but the receipt; the text ends before the first of `stop`. tps are per second of forward passes: the first
// token comes from the prompt's.
[[nodiscard]] Json answer_json(const engine::Generated& generated, std::span<const tokenizer::TokenId> prompt,
                               const tokenizer::Tokenizer& tokenizer, double load_ms,
                               const std::vector<std::string>& stop = {});

// "prompt 45 tokens (40 reused), 61.2 tokens/s; generated 32 tokens, 25.1 tokens/s; finish: length"
[[nodiscard]] std::string statistics_line(const engine::Generated& generated, size_t n_prompt);

}  // namespace lockstep
