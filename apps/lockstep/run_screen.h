// What `lockstep run` shows: the model's text on standard output, everything that the program itself says on standard
// error, there dim on a terminal and as plain lines elsewhere. One thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "chat_partner.h"
#include "output.h"
#include "text_output.h"

namespace lockstep {

class RunScreen {
 public:
  explicit RunScreen(Output& output);

  // Text of the model.
  void show(std::string_view text) { text_.write(text); }
  // Ends the model's text, so that what follows begins a line.
  void end_text();

  // A line of the program's own; may have several lines on a terminal.
  void say(std::string_view text);
  void say_error(std::string_view message);

  // What is to be said about an answer: turns left out, warnings of its prompt (each once), statistics.
  void say_about(const ChatAnswer& answer, int64_t ctx_size);

 private:
  Output& output_;
  TextOutput text_;
  bool dim_;
  std::set<std::string> said_;
};

}  // namespace lockstep
