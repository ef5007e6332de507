// The receipt of an answer: what is needed to get the same bits again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/generate.h"
#include "json_text.h"

namespace lockstep {

// The part that all answers of one loaded model share. Reads the whole file once more, for its hash.
[[nodiscard]] Json model_receipt(const std::filesystem::path& path, const engine::Engine& engine);

// model_receipt with the request's part added; the seed is the one that was used.
[[nodiscard]] Json request_receipt(const Json& model_receipt, const engine::GenerateOptions& request);

}  // namespace lockstep
