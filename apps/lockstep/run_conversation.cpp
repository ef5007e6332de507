#include "run_conversation.h"

#include <optional>

#include "base/error.h"
#include "exit_status.h"
#include "interrupt.h"
#include "line_editor.h"
#include "run_commands.h"

namespace lockstep {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

class RunLoop {
 public:
  RunLoop(ChatPartner& partner, RunScreen& screen, const std::string& session_file)
      : partner_(partner), screen_(screen), session_file_(session_file), commands_(partner, screen, session_file) {}

  int run() {
    const DeferSignals until_left;
    while (!must_leave()) {
      const std::optional<std::string> message = read_message();
      if (!message) break;
      if (message->find_first_not_of(" \t\r\n") == message->npos) continue;
      if (serve(*message) == RunNext::kLeave) break;
    }
    save();
    return status_;
  }

 private:
  // Nothing when the person leaves. After a first Control-C with nothing typed the second one leaves.
  std::optional<std::string> read_message() {
    std::string message;
    std::string line;
    bool several_lines = false;
    while (true) {
      const LineEditor::Outcome outcome = editor_.read(several_lines ? "... " : ">>> ", line);
      if (outcome == LineEditor::Outcome::kEnd) return std::nullopt;
      if (outcome == LineEditor::Outcome::kGivenUp) {
        if (give_up(several_lines || !line.empty())) return std::nullopt;
        message.clear();
        several_lines = false;
        continue;
      }
      if (line.find_first_not_of(" \t") != line.npos) editor_.remember(line);
      given_up_ = false;
      if (!several_lines && !line.starts_with(kQuotes)) return line;
      if (add_line(line, several_lines, message)) return message;
      several_lines = true;
    }
  }

  // True when it is time to leave.
  bool give_up(bool had_text) {
    if (given_up_ && !had_text) {
      status_ = kExitInterrupted;
      return true;
    }
    given_up_ = !had_text;
    if (given_up_) screen_.say("Control-C again, Control-D or /bye: leave");
    return false;
  }

  // A line of a message between quotes; true when it closes the message.
  static bool add_line(std::string line, bool inside, std::string& message) {
    if (!inside) line.erase(0, kQuotes.size());
    const bool closes = line.ends_with(kQuotes);
    if (closes) line.resize(line.size() - kQuotes.size());
    if (inside && !(closes && line.empty())) message += '\n';
    message += line;
    return closes;
  }

  // The conversation goes on after every error.
  RunNext serve(const std::string& message) {
    forget_interrupt();  // one that came while nothing was computed
    try {
      if (!RunCommands::is_command(message)) {
        answer([&](const auto& show) { return partner_.ask(message, show); });
        return RunNext::kRead;
      }
      const Json before = partner_.conversation().saved();
      const RunNext next = commands_.run(message);
      if (next == RunNext::kAnswerAgain) answer([&](const auto& show) { return partner_.answer_again(show); });
      // A signal that comes while a line is waited for leaves no time to save.
      if (next == RunNext::kRead && partner_.conversation().saved() != before) save();
      return next;
    } catch (const Error& error) {
      screen_.end_text();
      screen_.say_error(error.what());
      if (error.code() == ErrorCode::kContextFull)
        screen_.say("ways out: /undo, /clear, a larger --ctx-size, or --overflow drop-oldest");
    } catch (const std::bad_alloc&) {
      screen_.end_text();
      screen_.say_error("not enough memory");
    } catch (const Interrupted&) {
      screen_.end_text();
      screen_.say("stopped before the answer began; the question is taken back");
      heard_interrupt();
    }
    return RunNext::kRead;
  }

  template <typename Ask>
  void answer(const Ask& ask) {
    const ChatAnswer answer = ask([this](std::string_view text) { screen_.show(text); });
    commands_.count(answer);
    answered_ = true;
    partner_.save_and_tell(answer, session_file_, [&] {
      screen_.end_text();
      if (interrupted()) heard_interrupt();
      screen_.say_about(answer, partner_.loaded().engine->ctx_size());
    });
    partner_.prepare_next_turn();
  }

  void heard_interrupt() {
    forget_interrupt();
    given_up_ = true;
  }

  // Where nothing was said, no file is made.
  void save() {
    if (session_file_.empty() || (partner_.conversation().n_turns() == 0 && !answered_)) return;
    partner_.save(session_file_);
  }

  ChatPartner& partner_;
  RunScreen& screen_;
  const std::string& session_file_;
  RunCommands commands_;
  LineEditor editor_;
  bool given_up_ = false;
  bool answered_ = false;
  int status_ = kExitDone;
};

}  // namespace

int run_conversation(ChatPartner& partner, RunScreen& screen, const std::string& session_file) {
  return RunLoop(partner, screen, session_file).run();
}

}  // namespace lockstep
