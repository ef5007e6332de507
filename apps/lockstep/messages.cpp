#include "messages.h"

#include <cstdio>
#include <string>

namespace lockstep {
namespace {

void print(std::string_view kind, std::string_view message) {
  const std::string line = "lockstep: " + std::string(kind) + std::string(message) + "\n";
  // There is nobody left to tell when standard error itself fails.
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

}  // namespace

void print_error(std::string_view message) {
  print("error: ", message);
}
void print_warning(std::string_view message) {
  print("warning: ", message);
}
void print_note(std::string_view message) {
  print("", message);
}
void print_line_end() {
  std::fputc('\n', stderr);
}

}  // namespace lockstep
