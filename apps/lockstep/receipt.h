// The receipt of an answer: what is needed to get the same bits again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/generate.h"
#include "json_text.h"

namespace lockstep {

// Of the file that a model was loaded from, noted while it was open: later, another may stand in its place.
struct FileFacts {
  uint64_t bytes = 0;
  size_t n_tensors = 0;
  std::optional<std::string> template_xxh128;
};
[[nodiscard]] FileFacts file_facts(const gguf::ModelFile& file);

// The part that all answers of one loaded model share.
[[nodiscard]] Json model_receipt(const FileFacts& file, const engine::Engine& engine);

// model_receipt with the request's part added; the seed is the one that was used.
[[nodiscard]] Json request_receipt(const Json& model_receipt, const engine::GenerateOptions& request);

}  // namespace lockstep
