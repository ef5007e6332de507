// `lockstep run` on a terminal: questions are typed, answers come as they are made, until the person leaves.
#pragma once

#include <string>

#include "chat_partner.h"
#include "run_screen.h"

namespace lockstep {

// Returns the exit status. With a `session_file` the conversation is saved there after every answer,
// after every command that changes it, and at the end.
[[nodiscard]] int run_conversation(ChatPartner& partner, RunScreen& screen, const std::string& session_file);

}  // namespace lockstep
