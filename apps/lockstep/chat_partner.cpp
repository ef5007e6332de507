#include "chat_partner.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/session_file.h"
#include "messages.h"
#include "prompt_progress.h"
#include "served_options.h"

namespace lockstep {

ChatPartner::ChatPartner(const LoadedModel& loaded, chat::PromptBuilder builder, ChatSettings settings)
    : loaded_(loaded), builder_(std::move(builder)), settings_(std::move(settings)), session_(*loaded.engine) {
  session_.set_progress(prompt_progress(progress_));
}

// An answer of unknown length gets a quarter of the context.
chat::ContextRoom ChatPartner::room() const {
  const int64_t ctx = loaded_.engine->ctx_size();
  const int64_t n_predict = settings_.generation.generate.n_predict;
  return {ctx, n_predict < 0 ? ctx / 4 : std::min(n_predict, ctx / 2), settings_.overflow};
}

ChatAnswer ChatPartner::answer(chat::Conversation conversation, const AnswerWatcher::Show& show) {
  ChatAnswer answer;
  answer.next = chat::next_prompt(conversation, builder_, settings_.now, room(), memory_);
  answer.options = served_options(settings_.generation, *loaded_.engine);
  const auto& tokenizer = loaded_.engine->tokenizer();
  progress_.clear();
  AnswerWatcher watcher(tokenizer, answer.options.stop, [&](std::string_view text) {
    answer.text += text;
    if (!show || answer.not_shown) return;
    try {
      show(text);
    } catch (const std::exception&) {
      answer.not_shown = std::current_exception();
    }
  });
  answer.generated =
      engine::generate(session_, *loaded_.engine, answer.next.prompt.ids, answer.options, [&](tokenizer::TokenId id) {
        progress_.clear();
        const std::optional<engine::FinishReason> end = watcher.next(id);
        return answer.not_shown ? std::optional(engine::FinishReason::kCancelled) : end;
      });
  watcher.finish();
  conversation.answer(answer.text);
  conversation_ = std::move(conversation);
  return answer;
}

ChatAnswer ChatPartner::ask(const std::string& question, const AnswerWatcher::Show& show) {
  chat::Conversation conversation = conversation_;
  conversation.ask(question);
  return answer(std::move(conversation), show);
}

ChatAnswer ChatPartner::answer_again(const AnswerWatcher::Show& show) {
  chat::Conversation conversation = conversation_;
  if (!conversation.reopen()) fail(ErrorCode::kBadRequest, "there is no answer yet");
  return answer(std::move(conversation), show);
}

void ChatPartner::save(const std::filesystem::path& path) const {
  engine::save_session(path, session_, chat::json_line(conversation_.saved()));
}

void ChatPartner::save_and_tell(const ChatAnswer& answer, const std::string& session_file,
                                const std::function<void()>& tell) const {
  std::exception_ptr not_saved;
  std::string why;
  try {
    if (!session_file.empty()) save(session_file);
  } catch (const std::exception& error) {
    not_saved = std::current_exception();
    why = error.what();
  }
  try {
    if (answer.not_shown) std::rethrow_exception(answer.not_shown);
    tell();
  } catch (const std::exception&) {
    if (not_saved) print_error(why);  // the other error is the one that goes on from here
    throw;
  }
  if (not_saved) std::rethrow_exception(not_saved);
}

void ChatPartner::load(const std::filesystem::path& path) {
  // A conversation of another form leaves ours as it was; the cache only saves work and need not fit it.
  conversation_ = chat::Conversation::restored(parse_json(engine::load_session(path, session_)));
}

}  // namespace lockstep
