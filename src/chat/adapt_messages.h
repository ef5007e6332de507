// Templates differ in the form of content that they understand: a text, a list of parts, null. A conversation is put
// into the form in which the template drops nothing of it. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"
#include "chat/message.h"

namespace lockstep::chat {

struct Rendering {
  Json variables;    // as the template understands them
  std::string text;  // what it makes of them
};

// Renders `variables` (a checked conversation and what else the template gets) as they are; where texts of users or of
// the system are missing in the result, or show as Python objects, in another form if that shows more of them.
// Errors: those of ChatTemplate::render.
[[nodiscard]] Rendering render_adapted(const ChatTemplate& chat_template, const Json& variables, std::string_view now);

// Indices of the messages, of other roles than assistant, with a text that `prompt` does not hold.
[[nodiscard]] std::vector<size_t> missing_messages(const Json& messages, const std::string& prompt);

}  // namespace lockstep::chat
