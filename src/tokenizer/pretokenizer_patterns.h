// What `tokenizer.ggml.pre` stands for: a constant table from the names that llama.cpp of 2026 knows to the splitting
// rules that the model families publish in their tokenizer.json, and the few switches that come with a name.
#pragma once

#include <span>
#include <string_view>

#include "tokenizer/token_types.h"

namespace lockstep::tokenizer {

struct SplitRule {
  enum class Kind {
    kPattern,        // every match is a piece
    kGroupsOfThree,  // every match is cut into threes of characters, counted from its right end
  };
  std::string_view pattern;
  Kind kind = Kind::kPattern;
};

struct PretokenizerSpec {
  std::string_view name;
  std::span<const SplitRule> rules;
  bool ignore_merges = false;       // a pre-token that is a token is taken whole, merges or not
  bool newline_runs_whole = false;  // the same, for runs of newlines alone (Gemma 4)
  bool add_bos = false;             // unless the file says otherwise
  bool always_adds_bos = false;     // whatever the file says (Gemma 4)
  TextCoding coding = TextCoding::kByteLevel;
};

// The entry for `name`. An unknown name is an error that lists the nearest known ones.
[[nodiscard]] const PretokenizerSpec& pretokenizer_spec(std::string_view name);

[[nodiscard]] std::span<const PretokenizerSpec> all_pretokenizers();

}  // namespace lockstep::tokenizer
