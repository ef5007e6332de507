#include "answer_writer.h"

#include "answer.h"
#include "receipt.h"

namespace lockstep {

Json AnswerWriter::answer(const engine::Generated& generated, std::span<const tokenizer::TokenId> prompt,
                          const engine::GenerateOptions& options) {
  Json result = answer_json(generated, prompt, loaded_.engine->tokenizer(), loaded_.load_ms, options.stop);
  result["receipt"] = request_receipt(model_receipt_, options);
  return result;
}

}  // namespace lockstep
