// Models of a local Ollama store, read in place: manifests/HOST/NAMESPACE/MODEL/TAG is JSON that names blobs by digest,
// blobs/sha256-HEX are the files. Both are data from a stranger: names and digests are checked before they become
// paths.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

inline constexpr std::string_view kOllamaPrefix = "ollama:";

struct OllamaModel {
  std::filesystem::path path;                // of the model's GGUF file
  std::optional<std::string> chat_template;  // of the manifest; not what lockstep uses, that is in the GGUF file
  std::optional<std::string> parameters;     // JSON, as the manifest has it
};

// $OLLAMA_MODELS, else ~/.ollama/models.
[[nodiscard]] std::filesystem::path ollama_store();

// `name` is [[HOST/]NAMESPACE/]MODEL[:TAG]; without them, any host, "library" and "latest". Errors: kNotFound, listing
// the models of the store; kBadRequest for a name that is none; kBadFile for a manifest of another form.
[[nodiscard]] OllamaModel find_ollama_model(const std::string& name, const std::filesystem::path& store);

}  // namespace lockstep
