#include "chat/conversation.h"

#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace lockstep::chat {
namespace {

Json message(const char* role, const std::string& text) {
  return {{"role", role}, {"content", text}};
}

[[noreturn]] void fail_form(std::string_view what) {
  fail(ErrorCode::kBadFile, "saved conversation: {}", what);
}

// The text of a saved message with this role.
const std::string& text_of(const Json& message, std::string_view role) {
  const bool well_formed = message.is_object() && message.size() == 2 && message.contains("role") &&
                           message.contains("content") && message["content"].is_string();
  if (!well_formed) fail_form("expected messages with role and content");
  if (message["role"] != role) fail_form(fmt::format("expected a message of role {}", role));
  return message["content"].get_ref<const std::string&>();
}

bool has_role(const Json& message, std::string_view role) {
  return message.is_object() && message.contains("role") && message["role"] == role;
}

// The prompt without(n) of the least n from 1 to `most` that fits, where 0 does not; that of `most` when none does.
// What is made last has all that is in the one taken, so that a memory of the last prompt serves the next one.
template <typename Without, typename Fits>
NextPrompt fewest_dropped(size_t most, const Without& without, const Fits& fits) {
  size_t too_few = 0;
  NextPrompt found = without(1);
  while (!fits(found) && found.n_dropped < most) {
    too_few = found.n_dropped;
    found = without(too_few < most / 2 ? too_few * 2 : most);
  }
  if (!fits(found)) return found;
  while (found.n_dropped - too_few > 1) {
    NextPrompt middle = without(too_few + (found.n_dropped - too_few) / 2);
    if (fits(middle)) {
      found = std::move(middle);
    } else {
      too_few = middle.n_dropped;
    }
  }
  return found;
}

}  // namespace

void Conversation::set_system(std::string text) {
  if (!utf8_is_valid(text)) fail(ErrorCode::kBadRequest, "the system text is not UTF-8");
  system_ = std::move(text);
}

void Conversation::ask(std::string text) {
  if (!utf8_is_valid(text)) fail(ErrorCode::kBadRequest, "the message is not UTF-8");
  turns_.push_back({std::move(text), std::nullopt});
}

void Conversation::answer(std::string_view text) {
  turns_.back().answer = utf8_sanitize(text);
}

bool Conversation::undo() {
  if (turns_.empty()) return false;
  turns_.pop_back();
  n_dropped_ = std::min(n_dropped_, turns_.empty() ? 0 : turns_.size() - 1);
  return true;
}

bool Conversation::reopen() {
  if (turns_.empty() || !turns_.back().answer) return false;
  turns_.back().answer.reset();
  return true;
}

void Conversation::clear() {
  turns_.clear();
  n_dropped_ = 0;
}

Json Conversation::messages(size_t first_turn) const {
  Json messages = Json::array();
  if (!system_.empty()) messages.push_back(message("system", system_));
  for (size_t i = first_turn; i < turns_.size(); ++i) {
    messages.push_back(message("user", turns_[i].question));
    if (turns_[i].answer) messages.push_back(message("assistant", *turns_[i].answer));
  }
  return messages;
}

Json Conversation::prompt_input(size_t n_more) const {
  return {{"messages", messages(n_dropped_ + n_more)}, {"add_generation_prompt", true}};
}

Json Conversation::saved() const {
  return {{"messages", messages(0)}, {"dropped", n_dropped_}};
}

Conversation Conversation::restored(const Json& saved) {
  const bool well_formed = saved.is_object() && saved.contains("messages") && saved["messages"].is_array() &&
                           saved.contains("dropped") && saved["dropped"].is_number_unsigned();
  if (!well_formed) fail_form("expected an object with messages and dropped");
  const Json& messages = saved["messages"];
  Conversation result;
  size_t at = 0;
  if (!messages.empty() && has_role(messages[0], "system")) result.set_system(text_of(messages[at++], "system"));
  while (at < messages.size()) {
    result.turns_.push_back({text_of(messages[at++], "user"), std::nullopt});
    if (at < messages.size() && has_role(messages[at], "assistant"))
      result.turns_.back().answer = text_of(messages[at++], "assistant");
  }
  const auto n_dropped = saved["dropped"].get<uint64_t>();
  if (n_dropped > 0 && n_dropped >= result.turns_.size()) fail_form("more turns dropped than there are");
  result.n_dropped_ = n_dropped;
  return result;
}

NextPrompt next_prompt(Conversation& conversation, const PromptBuilder& builder, std::string_view now,
                       const ContextRoom& room, tokenizer::FragmentMemory& memory) {
  const auto without = [&](size_t n) {
    return NextPrompt{builder.build(conversation.prompt_input(n), now, memory), n};
  };
  const auto n_tokens = [](const NextPrompt& next) { return static_cast<int64_t>(next.prompt.ids.size()); };
  const auto fits = [&](const NextPrompt& next) { return n_tokens(next) + room.for_answer <= room.ctx_size; };
  NextPrompt next = without(0);
  if (room.overflow == Overflow::kDropOldest && conversation.n_droppable() > 0 && !fits(next)) {
    next = fewest_dropped(conversation.n_droppable(), without, fits);
    conversation.drop_oldest(next.n_dropped);
  }
  if (n_tokens(next) > room.ctx_size) {
    fail(ErrorCode::kContextFull, "the conversation has {} tokens, they do not fit the context of {}", n_tokens(next),
         room.ctx_size);
  }
  return next;
}

}  // namespace lockstep::chat
