#include "text_output.h"

#include "terminal.h"

namespace lockstep {

TextOutput::TextOutput(Output& output) : output_(output), terminal_(is_terminal(output.file())) {}

void TextOutput::write(std::string_view text) {
  if (text.empty()) return;
  if (terminal_) {
    output_.write(terminal_text(text));
  } else {
    output_.write(text);
  }
  output_.flush();
}

void TextOutput::end() {
  if (terminal_ && output_.inside_line()) output_.write("\n");
  output_.flush();
}

}  // namespace lockstep
