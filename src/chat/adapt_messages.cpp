#include "chat/adapt_messages.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/text_matcher.h"

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

// How often a prompt is searched to its end for one text; further texts that are missing are searched for together.
constexpr size_t kMostWholeSearches = 4;
constexpr size_t kBytesTogether = size_t{1} << 22;

struct Wanted {
  size_t message;
  std::string text;
};

// Linear in both, unlike std::string_view::find.
const char* find_text(const char* begin, const char* end, std::string_view text) {
  if (text.empty()) return begin;
  return static_cast<const char*>(memmem(begin, static_cast<size_t>(end - begin), text.data(), text.size()));
}

// Which of the texts stand anywhere in `prompt`.
std::vector<bool> found_in(std::string_view prompt, std::span<const std::string_view> texts) {
  const TextMatcher matcher(texts);
  std::vector<bool> found(texts.size());
  TextMatcher::Walk walk(matcher);
  for (size_t at = prompt.size(); at-- > 0;) {
    for (int32_t text = walk.step(prompt[at]); text >= 0; text = matcher.shorter(text)) {
      if (found[static_cast<size_t>(text)]) break;  // then those it begins with are known too
      found[static_cast<size_t>(text)] = true;
    }
  }
  return found;
}

// The messages of those texts that are nowhere in `prompt`.
std::vector<size_t> without(const std::vector<Wanted>& wanted, std::string_view prompt) {
  std::vector<size_t> missing;
  for (size_t begin = 0; begin < wanted.size();) {
    std::map<std::string_view, size_t> index;
    std::vector<std::string_view> texts;
    size_t end = begin;
    for (size_t n_bytes = 0; end < wanted.size() && n_bytes < kBytesTogether; ++end) {
      const std::string_view text = wanted[end].text;
      if (text.size() <= prompt.size() && index.try_emplace(text, texts.size()).second) texts.push_back(text);
      n_bytes += text.size();
    }
    const std::vector<bool> found = found_in(prompt, texts);
    for (; begin < end; ++begin) {
      const auto place = index.find(wanted[begin].text);
      const bool is_there = wanted[begin].text.empty() || (place != index.end() && found[place->second]);
      const bool is_known = !missing.empty() && missing.back() == wanted[begin].message;
      if (!is_there && !is_known) missing.push_back(wanted[begin].message);
    }
  }
  return missing;
}

}  // namespace

std::vector<size_t> missing_messages(const Json& messages, const std::string& prompt) {
  std::vector<Wanted> wanted;
  const char* after = prompt.data();  // texts mostly stand in the order of their messages
  size_t n_searches_left = kMostWholeSearches;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i]["role"] == "assistant") continue;
    for (const std::string& text : texts_of(messages[i])) {
      const std::string_view needle = trimmed(text);
      const char* end = prompt.data() + prompt.size();
      const char* at = n_searches_left > 0 ? find_text(after, end, needle) : nullptr;
      if (at != nullptr) {
        after = at + needle.size();
        continue;
      }
      if (n_searches_left > 0) --n_searches_left;
      wanted.push_back({i, std::string(needle)});
    }
  }
  return without(wanted, prompt);
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
