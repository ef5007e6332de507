// What a conversation is: JSON as the chat interfaces of today have it, an object with `messages`, and maybe `tools`,
// `documents` and further variables of the template. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::chat {

// Templates print objects in the order in which they came.
using Json = nlohmann::ordered_json;

// Error kBadRequest naming the field that has not the form of a conversation: a message is an object with a role and,
// as content, a text, null, nothing, or a list of parts.
void check_conversation(const Json& conversation);

// One line of JSON; bytes that are not UTF-8 are U+FFFD.
[[nodiscard]] std::string json_line(const Json& value);

// The texts of a message's content: the content itself, or those of its parts of type text.
[[nodiscard]] std::vector<std::string> texts_of(const Json& message);

}  // namespace lockstep::chat
