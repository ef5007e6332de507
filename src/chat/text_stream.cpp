#include "chat/text_stream.h"

namespace lockstep::chat {

std::string TextStream::push(tokenizer::TokenId id) {
  // Vocabularies may give an end-of-turn marker the type of a normal token.
  if (tokenizer_.is_end_of_generation(id)) return {};
  return matcher_.push(decoder_.push(id));
}

std::string TextStream::flush() {
  std::string rest = matcher_.push(decoder_.flush());
  return rest + matcher_.flush();
}

std::string answer_text(const tokenizer::Tokenizer& tokenizer, std::span<const tokenizer::TokenId> ids,
                        const std::vector<std::string>& stops) {
  TextStream stream(tokenizer, stops);
  std::string text;
  for (const tokenizer::TokenId id : ids) text += stream.push(id);
  return text + stream.flush();
}

}  // namespace lockstep::chat
