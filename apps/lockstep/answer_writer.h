// Answers of a loaded model as JSON, each with its receipt.
#pragma once

#include <span>

#include "engine/generate.h"
#include "json_text.h"
#include "model_options.h"

namespace lockstep {

class AnswerWriter {
 public:
  explicit AnswerWriter(const LoadedModel& loaded)
      : loaded_(loaded), model_receipt_(model_receipt(loaded.file, *loaded.engine)) {}

  [[nodiscard]] Json answer(const engine::Generated& generated, std::span<const tokenizer::TokenId> prompt,
                            const engine::GenerateOptions& options);

 private:
  const LoadedModel& loaded_;
  Json model_receipt_;
};

}  // namespace lockstep
