// The commands of a conversation: /help, /clear, /undo and so on. A line that begins with "/" is one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat_partner.h"
#include "run_screen.h"

namespace lockstep {

// What the loop of the conversation does next.
enum class RunNext { kRead, kAnswerAgain, kLeave };

class RunCommands {
 public:
  // `session_file` is where /save and /load go without a name; may be empty.
  RunCommands(ChatPartner& partner, RunScreen& screen, std::string session_file)
      : partner_(partner), screen_(screen), session_file_(std::move(session_file)) {}

  [[nodiscard]] static bool is_command(std::string_view line) { return line.starts_with('/'); }

  // Errors, of which the conversation survives: kBadRequest for a command or argument that is none; those of what it
  // does.
  [[nodiscard]] RunNext run(const std::string& line);

  // For /stats.
  void count(const ChatAnswer& answer);

 private:
  struct Command;
  [[nodiscard]] static const std::vector<Command>& commands();

  RunNext help(const std::string& argument);
  RunNext clear(const std::string& argument);
  RunNext undo(const std::string& argument);
  RunNext regenerate(const std::string& argument);
  RunNext system(const std::string& argument);
  RunNext set(const std::string& argument);
  RunNext show(const std::string& argument);
  RunNext save(const std::string& argument);
  RunNext load(const std::string& argument);
  RunNext stats(const std::string& argument);
  RunNext leave(const std::string& argument);

  [[nodiscard]] std::string file_for(const std::string& argument) const;
  [[nodiscard]] std::string summary();

  ChatPartner& partner_;
  RunScreen& screen_;
  std::string session_file_;
  std::vector<std::string> set_;  // what /set was given, as texts
  std::string last_statistics_;
  int64_t n_answers_ = 0, n_generated_ = 0, n_prompt_ = 0, n_reused_ = 0;
};

}  // namespace lockstep
