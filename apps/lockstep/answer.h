// An answer of the model as `complete --json` gives it.
#pragma once

#include <span>
#include <string>

#include "engine/generate.h"
#include "json_text.h"

namespace lockstep {

// What the generated ids add to the prompt's text: without the end-of-generation token that ended it.
[[nodiscard]] std::string generated_text(const engine::Generated& generated, const tokenizer::Tokenizer& tokenizer);

// Everything but load_ms and the receipt. tps are per second of forward passes: the first token comes from the
// prompt's.
[[nodiscard]] Json answer_json(const engine::Generated& generated, std::span<const tokenizer::TokenId> prompt,
                               const tokenizer::Tokenizer& tokenizer, double load_ms);

// "prompt 5 tokens, 61.2 tokens/s; generated 32 tokens, 25.1 tokens/s; finish: length"
[[nodiscard]] std::string statistics_line(const engine::Generated& generated, size_t n_prompt);

}  // namespace lockstep
