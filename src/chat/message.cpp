#include "chat/message.h"

#include "base/error.h"

namespace lockstep::chat {
namespace {

void check_parts(size_t index, const Json& parts) {
  for (const Json& part : parts) {
    const bool fits = part.is_object() && part.contains("type") && part["type"].is_string() &&
                      (part["type"] != "text" || (part.contains("text") && part["text"].is_string()));
    if (!fits) {
      fail(ErrorCode::kBadRequest, "messages[{}].content: expected parts such as {{\"type\":\"text\",\"text\":...}}",
           index);
    }
  }
}

void check_message(size_t index, const Json& message) {
  if (!message.is_object()) fail(ErrorCode::kBadRequest, "messages[{}]: expected an object", index);
  const auto role = message.find("role");
  if (role == message.end()) fail(ErrorCode::kBadRequest, "messages[{}]: role is missing", index);
  if (!role->is_string()) fail(ErrorCode::kBadRequest, "messages[{}].role: expected a text", index);
  const auto content = message.find("content");
  if (content == message.end() || content->is_null() || content->is_string()) return;
  if (!content->is_array()) {
    fail(ErrorCode::kBadRequest, "messages[{}].content: expected a text, null or a list of parts", index);
  }
  check_parts(index, *content);
}

void check_objects(const Json& conversation, const std::string& field) {
  const auto list = conversation.find(field);
  if (list == conversation.end() || list->is_null()) return;
  if (!list->is_array()) fail(ErrorCode::kBadRequest, "{}: expected a list of objects", field);
  for (size_t i = 0; i < list->size(); ++i) {
    if (!(*list)[i].is_object()) fail(ErrorCode::kBadRequest, "{}[{}]: expected an object", field, i);
  }
}

}  // namespace

void check_conversation(const Json& conversation) {
  if (!conversation.is_object()) fail(ErrorCode::kBadRequest, "a conversation is a JSON object with messages");
  const auto messages = conversation.find("messages");
  if (messages == conversation.end()) fail(ErrorCode::kBadRequest, "messages is missing");
  if (!messages->is_array()) fail(ErrorCode::kBadRequest, "messages: expected a list of objects");
  if (messages->empty()) fail(ErrorCode::kBadRequest, "messages: expected at least one message");
  for (size_t i = 0; i < messages->size(); ++i) check_message(i, (*messages)[i]);
  check_objects(conversation, "tools");
  check_objects(conversation, "documents");
}

std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> texts_of(const Json& message) {
  std::vector<std::string> texts;
  const auto content = message.find("content");
  if (content == message.end()) return texts;
  if (content->is_string()) texts.push_back(content->get<std::string>());
  if (!content->is_array()) return texts;
  for (const Json& part : *content) {
    if (part["type"] == "text") texts.push_back(part["text"].get<std::string>());
  }
  return texts;
}

}  // namespace lockstep::chat
