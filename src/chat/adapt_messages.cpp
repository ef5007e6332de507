#include "chat/adapt_messages.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace lockstep::chat {
namespace {

constexpr std::string_view kBlank = " \t\r\n\f\v";
constexpr std::string_view kPartSeparator = "\n";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

size_t count(std::string_view text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

bool is_text_part(const Json& part) {
  return part["type"] == "text";
}

bool has_text_parts(const Json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_array() && std::all_of(content->begin(), content->end(), is_text_part);
}

bool has_null(const Json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_null();
}

bool has_text(const Json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string();
}

// `variables` with change(message) applied where it `applies`; nothing when it does nowhere.
template <typename Applies, typename Change>
std::optional<Json> changed(const Json& variables, Applies applies, Change change) {
  const Json& messages = variables["messages"];
  if (std::none_of(messages.begin(), messages.end(), applies)) return std::nullopt;
  Json result = variables;
  for (Json& message : result["messages"]) {
    if (applies(message)) change(message);
  }
  return result;
}

void join_parts(Json& message) {
  std::string joined;
  for (const std::string& text : texts_of(message)) {
    if (!joined.empty()) joined += kPartSeparator;
    joined += text;
  }
  message["content"] = joined;
}

void make_parts(Json& message) {
  message["content"] = Json::array({{{"type", "text"}, {"text", message["content"]}}});
}

// How badly a rendering shows the conversation: texts left out, and objects printed as Python prints them.
size_t faults(const Json& variables, const std::string& text) {
  const Json& messages = variables["messages"];
  size_t n = missing_messages(messages, text).size();
  if (std::any_of(messages.begin(), messages.end(), has_text_parts)) n += count(text, "'type': 'text'");
  if (std::any_of(messages.begin(), messages.end(), has_null)) n += count(text, "None");
  return n;
}

class BestRendering {
 public:
  BestRendering(const ChatTemplate& chat_template, std::string_view now) : template_(chat_template), now_(now) {}

  [[nodiscard]] bool is_faultless() const { return best_ && best_faults_ == 0; }

  void consider(std::optional<Json> variables) {
    if (!variables || is_faultless()) return;
    try {
      std::string text = template_.render(json_line(*variables), now_);
      Rendering rendering = {*std::move(variables), std::move(text)};
      const size_t n = faults(rendering.variables, rendering.text);
      if (best_ && n >= best_faults_) return;
      best_ = std::move(rendering);
      best_faults_ = n;
    } catch (const Error&) {
      if (!error_) error_ = std::current_exception();
    }
  }

  Rendering take() {
    if (!best_) std::rethrow_exception(error_);
    return std::move(*best_);
  }

 private:
  const ChatTemplate& template_;
  std::string_view now_;
  std::optional<Rendering> best_;
  size_t best_faults_ = 0;
  std::exception_ptr error_;  // of the form that was given
};

}  // namespace

std::vector<size_t> missing_messages(const Json& messages, const std::string& prompt) {
  std::vector<size_t> missing;
  size_t after = 0;  // texts mostly stand in the order of their messages
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i]["role"] == "assistant") continue;
    for (const std::string& text : texts_of(messages[i])) {
      const std::string_view wanted = trimmed(text);
      size_t at = prompt.find(wanted, after);
      if (at == prompt.npos) at = prompt.find(wanted);
      if (at == prompt.npos) {
        missing.push_back(i);
        break;
      }
      after = at + wanted.size();
    }
  }
  return missing;
}

Rendering render_adapted(const ChatTemplate& chat_template, const Json& variables, std::string_view now) {
  BestRendering best(chat_template, now);
  best.consider(variables);
  if (best.is_faultless()) return best.take();
  const auto without_null = changed(variables, has_null, [](Json& message) { message["content"] = ""; });
  best.consider(without_null);
  const Json& base = without_null ? *without_null : variables;
  best.consider(changed(base, has_text_parts, join_parts));
  best.consider(changed(base, has_text, make_parts));
  return best.take();
}

}  // namespace lockstep::chat
