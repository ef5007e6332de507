// Where a prompt comes from: an argument, -p, a file, a list of ids, or requests on standard input; exactly one of
// them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace lockstep {

struct PromptSource {
  std::optional<std::string> positional;
  CLI::Option* flag = nullptr;   // -p
  CLI::Option* file = nullptr;   // -f
  CLI::Option* ids = nullptr;    // --ids, null where the command has none
  CLI::Option* jsonl = nullptr;  // --stdin-jsonl, null where the command has none
  std::string flag_text, file_name, ids_text;
  bool from_stdin_jsonl = false;
};

struct PromptForms {
  bool ids = false;
  bool jsonl = false;
};
void add_prompt_options(CLI::App& command, PromptSource& source, const std::string& name, PromptForms forms);

[[nodiscard]] bool has_prompt_source(const PromptSource& source);

// Error kUsage unless exactly one source is given and its ids are numbers.
void check_prompt_source(const PromptSource& source);

// A prompt before there is a vocabulary: ids, or else a text.
struct RawPrompt {
  std::optional<std::vector<tokenizer::TokenId>> ids;
  std::string text;
};
// Reads the file, raw bytes, where one is given; `-f -` is standard input.
[[nodiscard]] RawPrompt read_prompt(const PromptSource& source);

// The largest text that is read.
inline constexpr uint64_t kMostTextBytes = uint64_t{1} << 26;

// The bytes of a file; "-" is standard input. An error for more than `most`, before they are read.
[[nodiscard]] std::string read_file_or_stdin(const std::string& name, uint64_t most = kMostTextBytes);

// Error kContextFull for a text that is too long for the context whatever its tokens are.
void check_fits(std::string_view text, const tokenizer::Tokenizer& tokenizer, int64_t n_context);

// A text has its special tokens recognised, and added by the file's rule; ids are taken as they are.
[[nodiscard]] std::vector<tokenizer::TokenId> encode_prompt(const RawPrompt& prompt,
                                                            const tokenizer::Tokenizer& tokenizer, int64_t n_context);

}  // namespace lockstep
