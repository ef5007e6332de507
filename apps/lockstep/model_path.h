// Where the file of a MODEL argument is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

// The folders in which a model's name is looked up: $LOCKSTEP_MODELS, or ~/.local/share/lockstep/models; then ./models.
[[nodiscard]] std::vector<std::filesystem::path> model_folders();

// `model` is a path, the name of a file in one of `folders`, with or without ".gguf", or "ollama:" and the name of a
// model in the local Ollama store (ollama_store.h). Error kNotFound for another one, listing what there is.
[[nodiscard]] std::filesystem::path find_model(const std::string& model,
                                               const std::vector<std::filesystem::path>& folders);

}  // namespace lockstep
