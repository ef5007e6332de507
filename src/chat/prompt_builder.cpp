#include "chat/prompt_builder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "chat/json_fields.h"

namespace lockstep::chat {
namespace {

using tokenizer::TextPiece;
using tokenizer::TokenId;
using tokenizer::Tokenizer;

constexpr size_t kMostNameWarnings = 10;

// Where a value stands. Spelled out only where somebody is to read it.
struct Place {
  const Place* outer = nullptr;
  std::string_view key = {};
  size_t index = 0;  // without a key
};

std::string spelled(const Place& place) {
  if (place.outer == nullptr) return "";
  std::string text = spelled(*place.outer);
  if (place.key.data() == nullptr) return text + '[' + std::to_string(place.index) + ']';
  if (!text.empty()) text += '.';
  return text.append(place.key);
}

// Calls visit(text, place) for every text and key in `value`.
template <typename Visit>
void for_each_text(const Json& value, const Place& place, const Visit& visit) {
  if (value.is_string()) visit(value.get_ref<const std::string&>(), place);
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) for_each_text(value[i], {&place, {}, i}, visit);
  }
  if (value.is_object()) {
    for (const auto& field : value.items()) {
      const Place inside = {&place, field.key()};
      visit(field.key(), inside);
      for_each_text(field.value(), inside, visit);
    }
  }
}

std::vector<std::string> name_warnings(const ControlTexts& controls, const Json& conversation) {
  std::vector<std::string> warnings;
  for_each_text(conversation, {}, [&](const std::string& text, const Place& place) {
    for (const std::string& name : controls.names_in(text, kMostNameWarnings - warnings.size())) {
      warnings.push_back(fmt::format("{}: {} is the name of a control token; it stays plain text",
                                     printable(spelled(place)), printable(name)));
    }
  });
  return warnings;
}

std::vector<TextPiece> pieces_of(const TrustedText& text) {
  std::vector<TextPiece> pieces;
  size_t begin = 0;
  for (size_t at = 1; at <= text.text.size(); ++at) {
    if (at < text.text.size() && text.trusted[at] == text.trusted[begin]) continue;
    pieces.push_back({std::string_view(text.text).substr(begin, at - begin), text.trusted[begin]});
    begin = at;
  }
  return pieces;
}

std::string names_of(const std::vector<tokenizer::ChatTemplateText>& templates) {
  std::string names;
  for (const auto& text : templates) names += (names.empty() ? "" : ", ") + printable(text.name);
  return names;
}

}  // namespace

ChatTemplate template_of_file(const Tokenizer& tokenizer, std::string_view name, bool with_tools,
                              std::string_view origin) {
  const auto& templates = tokenizer.chat_templates();
  const auto find = [&](std::string_view wanted) {
    return std::find_if(templates.begin(), templates.end(), [&](const auto& text) { return text.name == wanted; });
  };
  if (templates.empty()) {
    fail(ErrorCode::kNotFound,
         "{}the model file has no chat template, and none is guessed: give one with --chat-template-file FILE, or "
         "continue a text with lockstep complete, which needs none",
         error_start(origin));
  }
  auto found = name.empty() && with_tools ? find("tool_use") : find(name);
  if (name.empty() && found == templates.end()) found = find("default");
  if (found != templates.end()) return ChatTemplate(found->source, origin);
  fail(ErrorCode::kNotFound, "{}the model file has no chat template {}: choose by --chat-template one of {}",
       error_start(origin), name.empty() ? "of its own by default" : printable(name), names_of(templates));
}

Json special_token_variables(const Tokenizer& tokenizer) {
  Json variables = Json::object();
  const auto add = [&](const char* name, std::optional<TokenId> id) {
    if (id) variables[name] = std::string(tokenizer.piece(*id));
  };
  add("bos_token", tokenizer.bos());
  add("eos_token", tokenizer.eos());
  add("unk_token", tokenizer.unknown());
  add("pad_token", tokenizer.padding());
  return variables;
}

PromptBuilder::PromptBuilder(const Tokenizer& tokenizer, ChatTemplate chat_template, Json variables)
    : tokenizer_(tokenizer),
      template_(std::move(chat_template)),
      variables_(updated(special_token_variables(tokenizer), variables)),
      controls_(tokenizer),
      words_(template_.source()) {}

Json PromptBuilder::with_variables(const Json& conversation) const {
  return updated(conversation, variables_);
}

// The rendering `plain` with what the template wrote told from what it was given.
TrustedText PromptBuilder::trusted_text(const Rendering& plain, std::string_view now) const {
  std::vector<std::string_view> foreign;
  bool suspicious = false;
  for_each_text(plain.variables, {}, [&](const std::string& text, const Place&) {
    if (!words_.contains(text)) foreign.push_back(text);
    // A word of the template's own may still be the name of a control token.
    suspicious = suspicious || !controls_.names_in(text, 1).empty();
  });
  if (!suspicious && !controls_.may_become_control(foreign))
    return {plain.text, std::vector<bool>(plain.text.size(), true)};
  const std::string used = template_.source() + json_line(with_variables(plain.variables)) + plain.text;
  TrustedText text;
  for (const MarkLevel level : {MarkLevel::kCharacters, MarkLevel::kPunctuation, MarkLevel::kNames}) {
    TextMarks marks(controls_, words_, used);
    const std::string variables = json_line(with_variables(marks.marked(plain.variables, level)));
    bool same = false;
    try {
      text = marks.restored(template_.render(variables, now), plain.text, same);
    } catch (const Error&) {
      if (level == MarkLevel::kNames) throw;
    }
    if (same) break;
  }
  return text;
}

void PromptBuilder::add_bos(Prompt& prompt) const {
  const auto bos = tokenizer_.bos();
  if (!bos) return;
  std::vector<TokenId>& ids = prompt.ids;
  const auto first_other = std::find_if(ids.begin(), ids.end(), [&](TokenId id) { return id != *bos; });
  if (!tokenizer_.adds_bos()) {
    if (first_other - ids.begin() > 1) prompt.warnings.push_back("the template writes BOS more than once");
    return;
  }
  if (first_other != ids.begin()) {
    prompt.warnings.push_back("the template writes BOS and the file asks for one too: the prompt has it once");
  }
  ids.erase(ids.begin(), first_other);
  ids.insert(ids.begin(), *bos);
}

Prompt PromptBuilder::build(const Json& conversation, std::string_view now) const {
  tokenizer::FragmentMemory nothing;
  return build(conversation, now, nothing);
}

Prompt PromptBuilder::build(const Json& conversation, std::string_view now, tokenizer::FragmentMemory& memory) const {
  check_conversation(conversation);
  Rendering plain = render_adapted(template_, with_variables(conversation), now);
  plain.variables = without(std::move(plain.variables), variables_);
  const TrustedText text = trusted_text(plain, now);
  Prompt prompt;
  prompt.text = text.text;
  prompt.ids = tokenizer_.encode(pieces_of(text), false, memory);
  add_bos(prompt);
  for (const size_t index : missing_messages(plain.variables["messages"], plain.text)) {
    prompt.warnings.push_back(fmt::format("messages[{}]: the template leaves the text of role {} out", index,
                                          printable(plain.variables["messages"][index]["role"].get<std::string>())));
  }
  for (std::string& warning : name_warnings(controls_, conversation)) prompt.warnings.push_back(std::move(warning));
  return prompt;
}

}  // namespace lockstep::chat
