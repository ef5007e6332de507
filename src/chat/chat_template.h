// A model's chat template: Jinja text that turns messages into the prompt that the model was trained on, with the
// variables, filters and whitespace rules that the transformers library gives it. It runs in rust/chat_template
// (docs/adr/0006-chat-templates.md) within budgets: a template is a program from a stranger. Compiled once,
// when it is first rendered. Immutable; safe from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct LockstepTemplate;

namespace lockstep::chat {

constexpr uint64_t kMostTemplateBytes = uint64_t{1} << 18;  // as in rust/chat_template

class ChatTemplate {
 public:
  // What is wrong with `source` is an error of render(), which names `origin`, the file that it is from, where given.
  explicit ChatTemplate(std::string source, std::string_view origin = {});

  // `variables` is a JSON object; `now`, the time for strftime_now, is YYYY-MM-DDTHH:MM:SS.
  // Errors: kTemplate with the template's own message where it raised one, else with what is wrong and the line;
  // kBadRequest for variables that are not JSON.
  [[nodiscard]] std::string render(std::string_view variables, std::string_view now) const;

  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  std::string source_;
  std::string origin_;  // as errors begin
  std::shared_ptr<const LockstepTemplate> template_;
};

// How an error about a template of the file `origin` begins; nothing where it is not known.
[[nodiscard]] std::string error_start(std::string_view origin);

// The local time as render() takes it.
[[nodiscard]] std::string local_time_now();
[[nodiscard]] bool is_local_time(std::string_view text);  // by its form

}  // namespace lockstep::chat
