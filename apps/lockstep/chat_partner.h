// A model in conversation: questions become prompts, what the session has of them is used again, answers join the
// conversation. It can be saved and taken up again with its cache. One thread; the loaded model must outlive it.
#pragma once

#include <filesystem>
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
};

class ChatPartner {
 public:
  ChatPartner(const LoadedModel& loaded, chat::PromptBuilder builder, ChatSettings settings);

  [[nodiscard]] chat::Conversation& conversation() noexcept { return conversation_; }
  [[nodiscard]] GenerationSettings& generation() noexcept { return settings_.generation; }
  [[nodiscard]] const LoadedModel& loaded() const noexcept { return loaded_; }
  [[nodiscard]] const engine::Session& session() const noexcept { return session_; }

  // Asks `question`. When there is no answer (an error, Interrupted before the first token), the conversation is as it
  // was. Errors: those of chat::next_prompt and engine::generate.
  ChatAnswer ask(const std::string& question, const AnswerWatcher::Show& show);
  // Answers the last question anew. Error kBadRequest when there is none.
  ChatAnswer answer_again(const AnswerWatcher::Show& show);

  // While the user reads the answer and types: memory that the next turn needs.
  void prepare_next_turn() noexcept { session_.commit_ahead(); }

  // Conversation and cache as a file, and back. Errors: those of engine::save_session and load_session.
  void save(const std::filesystem::path& path) const;
  void load(const std::filesystem::path& path);

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
