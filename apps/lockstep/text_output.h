// A model's text for people: byte for byte into a file or pipe, with control characters made visible on a terminal.
#pragma once

#include <string_view>

#include "output.h"

namespace lockstep {

class TextOutput {
 public:
  explicit TextOutput(Output& output);

  // Whole characters, shown at once.
  void write(std::string_view text);

  // Ends the text: a terminal gets the end of its last line, a file or pipe nothing.
  void end();

 private:
  Output& output_;
  bool terminal_;
};

}  // namespace lockstep
