#include "answer_watcher.h"

#include "interrupt.h"

namespace lockstep {

std::optional<engine::FinishReason> AnswerWatcher::next(tokenizer::TokenId id) {
  tell(stream_.push(id));
  if (stream_.stopped()) return engine::FinishReason::kStop;
  return interrupted() ? std::optional(engine::FinishReason::kCancelled) : std::nullopt;
}

}  // namespace lockstep
