// A model in conversation: questions become prompts, what the session has of them is used again, answers join the
// conversation. It can be saved and taken up again with its cache. One thread; the loaded model must outlive it.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <string>

#include "answer_watcher.h"
#include "chat/conversation.h"
#include "generation_options.h"
#include "model_options.h"
#include "progress_line.h"
#include "tokenizer/fragment_memory.h"

namespace lockstep {

struct ChatSettings {
  GenerationSettings generation;
  chat::Overflow overflow = chat::Overflow::kError;
  std::string
      now;  // the time that templates see, one for the whole conversation: a prompt that changes is computed anew
};

struct ChatAnswer {
  chat::NextPrompt next;
  engine::GenerateOptions options;
  engine::Generated generated;
  std::string text;
  std::exception_ptr not_shown;  // why the text could not be shown to its end, which ended the answer
};

class ChatPartner {
 public:
  ChatPartner(const LoadedModel& loaded, chat::PromptBuilder builder, ChatSettings settings);

  [[nodiscard]] chat::Conversation& conversation() noexcept { return conversation_; }
  [[nodiscard]] GenerationSettings& generation() noexcept { return settings_.generation; }
  [[nodiscard]] const LoadedModel& loaded() const noexcept { return loaded_; }
  [[nodiscard]] const engine::Session& session() const noexcept { return session_; }

  // Asks `question`. When there is no answer (an error, Interrupted before the first token), the conversation is as it
  // was. When `show` throws, the answer ends there and joins the conversation as one does that a signal ends.
  // Errors: those of chat::next_prompt and engine::generate.
  ChatAnswer ask(const std::string& question, const AnswerWatcher::Show& show);
  // Answers the last question anew. Error kBadRequest when there is none.
  ChatAnswer answer_again(const AnswerWatcher::Show& show);

  // While the user reads the answer and types: memory that the next turn needs.
  void prepare_next_turn() noexcept { session_.commit_ahead(); }

  // Conversation and cache as a file, and back. Errors: those of engine::save_session and load_session.
  void save(const std::filesystem::path& path) const;
  void load(const std::filesystem::path& path);

  // After an answer: saves it, where `session_file` is not empty, then says about it what `tell` says. An answer that
  // cannot be shown is saved all the same, and one that cannot be saved is told of. Errors: why it could not be shown,
  // those of `tell`, those of save().
  void save_and_tell(const ChatAnswer& answer, const std::string& session_file,
                     const std::function<void()>& tell) const;

 private:
  ChatAnswer answer(chat::Conversation conversation, const AnswerWatcher::Show& show);
  [[nodiscard]] chat::ContextRoom room() const;

  const LoadedModel& loaded_;
  chat::PromptBuilder builder_;
  ChatSettings settings_;
  engine::Session session_;
  chat::Conversation conversation_;
  tokenizer::FragmentMemory memory_;
  ProgressLine progress_{"prompt:", "tokens", 1};
};

}  // namespace lockstep
