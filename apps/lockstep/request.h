// Requests as lines of JSON: {"text":...}, {"ids":[...]} or {"bytes":[...]} plus generation options by their long names
// with underscores. A line that cannot be served gets an error in its place and the rest goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "generation_options.h"
#include "json_text.h"
#include "output.h"
#include "tokenizer/tokenizer.h"

namespace lockstep {

struct Request {
  std::vector<tokenizer::TokenId> prompt;
  GenerationSettings settings;
};

// `defaults` are the settings of the command line. Error kBadRequest naming the field, kContextFull for a text that
// cannot fit.
[[nodiscard]] Request parse_request(std::string_view line, const GenerationSettings& defaults,
                                    const tokenizer::Tokenizer& tokenizer, int64_t n_context);

// The token ids of a field, 0 to 2^31 - 1. Error kBadRequest naming the field and the place.
[[nodiscard]] std::vector<tokenizer::TokenId> token_ids_of(std::string_view field, const Json& value);

// The bytes of a line {"text":...} or {"bytes":[...]}, which may have no other field.
[[nodiscard]] std::string text_request(std::string_view line);

// Answers every line of standard input with one line: serve(line), or the error that it threw. Returns the exit
// status.
[[nodiscard]] int serve_lines(Output& output, const std::function<Json(std::string_view)>& serve);

}  // namespace lockstep
