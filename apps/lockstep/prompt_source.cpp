#include "prompt_source.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "number_text.h"
#include "usage.h"

namespace lockstep {
namespace {

bool given(const CLI::Option* option) {
  return option != nullptr && option->count() > 0;
}

// The next byte of standard input, EOF at its end. Error kIo when it cannot be read; a closed one has simply ended.
int next_byte() {
  const int byte = std::getc(stdin);
  if (byte == EOF && std::ferror(stdin) != 0 && errno != EBADF)
    fail(ErrorCode::kIo, "standard input: {}", std::strerror(errno));
  return byte;
}

std::string all_of_stdin(uint64_t most) {
  std::string text;
  for (int byte = next_byte(); byte != EOF; byte = next_byte()) {
    if (text.size() == most) fail(ErrorCode::kBadRequest, "standard input: more than {} bytes", most);
    text += static_cast<char>(byte);
  }
  return text;
}

}  // namespace

void add_prompt_options(CLI::App& command, PromptSource& source, const std::string& name, PromptForms forms) {
  command.add_option(name, source.positional, "the text")->type_name("");
  source.flag = command.add_option("-p,--prompt", source.flag_text, "the text, as an option")->type_name("TEXT");
  source.file =
      command.add_option("-f,--file", source.file_name, "a file with the text, byte for byte; -: standard input")
          ->type_name("FILE");
  if (forms.ids) source.ids = command.add_option("--ids", source.ids_text, "the text as token ids")->type_name("1,2,3");
  if (forms.jsonl) {
    source.jsonl = command.add_flag("--stdin-jsonl", source.from_stdin_jsonl,
                                    "requests from standard input, one JSON object a line; answers the same way");
  }
}

bool has_prompt_source(const PromptSource& source) {
  return source.positional || given(source.flag) || given(source.file) || given(source.ids) || given(source.jsonl);
}

void check_prompt_source(const PromptSource& source) {
  int n_sources = source.positional ? 1 : 0;
  std::string forms = "a text, -p, -f";
  for (const CLI::Option* option : {source.flag, source.file}) n_sources += given(option) ? 1 : 0;
  for (const CLI::Option* option : {source.ids, source.jsonl}) {
    if (option != nullptr) forms += ", " + option->get_name();
    n_sources += given(option) ? 1 : 0;
  }
  if (n_sources == 0) fail(ErrorCode::kUsage, "no text is given, expected one of {}", forms);
  if (n_sources > 1) fail(ErrorCode::kUsage, "more than one text is given, expected one of {}", forms);
  if (given(source.ids)) as_usage([&] { return parse_ids("ids", source.ids_text); });
}

RawPrompt read_prompt(const PromptSource& source) {
  if (given(source.ids)) return {parse_ids("ids", source.ids_text), ""};
  if (given(source.flag)) return {std::nullopt, source.flag_text};
  if (given(source.file)) return {std::nullopt, read_file_or_stdin(source.file_name)};
  return {std::nullopt, source.positional.value_or("")};
}

std::string read_file_or_stdin(const std::string& name, uint64_t most) {
  return name == "-" ? all_of_stdin(most) : read_text_file(name, most);
}

void check_fits(std::string_view text, const tokenizer::Tokenizer& tokenizer, int64_t n_context) {
  const uint64_t least = tokenizer.least_tokens(text.size());
  if (least <= static_cast<uint64_t>(n_context)) return;
  fail(ErrorCode::kContextFull, "{} bytes of text, at least {} tokens, do not fit the context of {}", text.size(),
       least, n_context);
}

std::vector<tokenizer::TokenId> encode_prompt(const RawPrompt& prompt, const tokenizer::Tokenizer& tokenizer,
                                              int64_t n_context) {
  if (prompt.ids) return *prompt.ids;
  check_fits(prompt.text, tokenizer, n_context);
  return tokenizer.encode(prompt.text, {.add_special = true, .parse_special = true});
}

}  // namespace lockstep
