#include "run_screen.h"

#include <fmt/format.h>

#include <cstdlib>

#include "answer.h"
#include "messages.h"
#include "terminal.h"

namespace lockstep {
namespace {

// NO_COLOR (no-color.org) asks for plain text.
bool may_be_dim() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return is_terminal(stderr) && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

std::string dropped_text(size_t n_dropped) {
  return fmt::format("the context is full: the oldest {} left out from here on",
                     n_dropped == 1 ? "turn is" : fmt::format("{} turns are", n_dropped));
}

// The answer did not end by itself: there was no room for more.
bool ran_out_of_context(const ChatAnswer& answer, int64_t ctx_size) {
  const auto n_all = static_cast<int64_t>(answer.next.prompt.ids.size() + answer.generated.ids.size());
  return answer.generated.finish == engine::FinishReason::kLength && n_all > ctx_size;
}

}  // namespace

RunScreen::RunScreen(Output& output) : output_(output), text_(output), dim_(may_be_dim()) {}

void RunScreen::end_text() {
  text_.end();
  if (output_.inside_line()) print_line_end();
}

void RunScreen::say(std::string_view text) {
  if (!dim_) return print_note(text);
  const std::string line = fmt::format("\x1b[2m{}\x1b[0m\n", text);
  std::fputs(line.c_str(), stderr);
}

void RunScreen::say_error(std::string_view message) {
  print_error(message);
}

void RunScreen::say_about(const ChatAnswer& answer, int64_t ctx_size) {
  if (answer.next.n_dropped > 0) say(dropped_text(answer.next.n_dropped));
  for (const std::string& warning : answer.next.prompt.warnings) {
    if (said_.insert(warning).second) print_warning(warning);
  }
  if (ran_out_of_context(answer, ctx_size))
    say(fmt::format("the answer is cut: the context of {} tokens is full", ctx_size));
  say(statistics_line(answer.generated, answer.next.prompt.ids.size()));
}

}  // namespace lockstep
