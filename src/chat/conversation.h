// A conversation as people have it: an optional system text, then questions with their answers. It becomes a prompt
// through the model's template; when the context is full, whole turns may be left out from the oldest on. Not
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/prompt_builder.h"
#include "tokenizer/fragment_memory.h"

namespace lockstep::chat {

class Conversation {
 public:
  // Empty: no system message. Error kBadRequest when `text` is not UTF-8.
  void set_system(std::string text);
  [[nodiscard]] const std::string& system() const noexcept { return system_; }

  // A question that waits for its answer. Error kBadRequest when `text` is not UTF-8.
  void ask(std::string text);
  // The answer to the last question; bytes that are not UTF-8 become U+FFFD, as templates take texts only.
  void answer(std::string_view text);

  // Takes the last question and what was answered back. False when there is none.
  bool undo();
  // Takes the last answer back, so that its question waits again. False when there is none.
  bool reopen();
  // Forgets all turns; the system text stays.
  void clear();

  [[nodiscard]] size_t n_turns() const noexcept { return turns_.size(); }
  [[nodiscard]] size_t n_dropped() const noexcept { return n_dropped_; }

  // How many turns can be dropped: all that the model still sees but the last one.
  [[nodiscard]] size_t n_droppable() const noexcept { return turns_.empty() ? 0 : turns_.size() - 1 - n_dropped_; }
  // The oldest `n` turns that the model still sees, at most n_droppable(), are left out from now on.
  void drop_oldest(size_t n) { n_dropped_ += n; }

  // {"messages":[...],"add_generation_prompt":true}: what the model is to see, or would if `n_more` turns were dropped.
  [[nodiscard]] Json prompt_input(size_t n_more = 0) const;

  // Everything, for a file: {"messages":[...],"dropped":N}; and back. Error kBadFile for JSON of another form.
  [[nodiscard]] Json saved() const;
  [[nodiscard]] static Conversation restored(const Json& saved);

 private:
  struct Turn {
    std::string question;
    std::optional<std::string> answer;
  };

  [[nodiscard]] Json messages(size_t first_turn) const;

  std::string system_;
  std::vector<Turn> turns_;
  size_t n_dropped_ = 0;  // leading turns that the model does not see
};

// What happens when a conversation does not fit the context.
enum class Overflow { kError, kDropOldest };

struct ContextRoom {
  int64_t ctx_size;
  int64_t for_answer;  // with kDropOldest as few turns are dropped as leave so much free
  Overflow overflow = Overflow::kError;
};

struct NextPrompt {
  Prompt prompt;
  size_t n_dropped = 0;  // turns that were left out now
};

// The prompt for the question that waits; `memory` is that of the conversation's prompt before. Turns to drop are found
// by bisection, so that many cost few prompts: they are the fewest for every template that writes no more for fewer
// turns. Errors: kContextFull with both numbers; those of PromptBuilder::build.
[[nodiscard]] NextPrompt next_prompt(Conversation& conversation, const PromptBuilder& builder, std::string_view now,
                                     const ContextRoom& room, tokenizer::FragmentMemory& memory);

}  // namespace lockstep::chat
