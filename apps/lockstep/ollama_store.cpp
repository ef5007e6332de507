#include "ollama_store.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "json_text.h"
#include "name_list.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostManifestBytes = uint64_t{1} << 20;

struct Reference {
  std::string host;  // empty: any
  std::string space = "library";
  std::string model;
  std::string tag = "latest";
};

// One component of a path inside the store; nothing that could lead out of it.
bool is_plain_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 200 && name.front() != '.' && std::ranges::all_of(name, is_allowed);
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(at, begin);
    parts.emplace_back(text.substr(begin, end == text.npos ? end : end - begin));
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

Reference parse_name(const std::string& name) {
  Reference reference;
  std::vector<std::string> parts = split(name, '/');
  // A colon before a slash belongs to a host's port, which no store has as a plain name.
  if (const size_t colon = parts.back().find(':'); colon != std::string::npos) {
    reference.tag = parts.back().substr(colon + 1);
    parts.back().resize(colon);
  }
  reference.model = parts.back();
  if (parts.size() >= 2) reference.space = parts[parts.size() - 2];
  if (parts.size() == 3) reference.host = parts[0];
  const bool plain = parts.size() <= 3 && is_plain_name(reference.tag) && std::ranges::all_of(parts, is_plain_name);
  if (!plain) {
    fail(ErrorCode::kBadRequest, "model ollama:{}: expected ollama:[[HOST/]NAMESPACE/]MODEL[:TAG]",
         printable(name, 200));
  }
  return reference;
}

// The names of what is in a folder, sorted; nothing when there is none.
std::vector<std::string> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().native());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> models_in(const fs::path& store) {
  std::vector<std::string> names;
  for (const std::string& host : entries_of(store / "manifests")) {
    for (const std::string& space : entries_of(store / "manifests" / host)) {
      for (const std::string& model : entries_of(store / "manifests" / host / space)) {
        for (const std::string& tag : entries_of(store / "manifests" / host / space / model))
          names.push_back((space == "library" ? model : space + '/' + model) + ':' + tag);
      }
    }
  }
  return names;
}

fs::path manifest_of(const Reference& reference, const std::string& name, const fs::path& store) {
  const fs::path manifests = store / "manifests";
  const std::vector<std::string> hosts =
      reference.host.empty() ? entries_of(manifests) : std::vector<std::string>{reference.host};
  std::vector<fs::path> found;
  for (const std::string& host : hosts) {
    const fs::path path = manifests / host / reference.space / reference.model / reference.tag;
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) found.push_back(path);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    fail(ErrorCode::kNotFound, "model ollama:{}: on several hosts, name one of {}", name, listed_names(hosts));
  const std::vector<std::string> models = models_in(store);
  fail(ErrorCode::kNotFound, "model ollama:{}: not in the Ollama store {}; {}", name, printable(store.native(), 200),
       models.empty() ? "no models there" : "models there: " + listed_names(models));
}

bool is_hexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The file of a layer whose digest is "sha256:" and 64 digits.
fs::path blob_of(const Json& layer, const std::string& manifest, const fs::path& store) {
  constexpr std::string_view kHash = "sha256:";
  const std::string digest =
      layer.contains("digest") && layer["digest"].is_string() ? layer["digest"].get<std::string>() : "";
  if (!digest.starts_with(kHash) || digest.size() != kHash.size() + 64 || !is_hexadecimal(digest.substr(kHash.size())))
    fail(ErrorCode::kBadFile, "{}: digest {}: expected sha256: and 64 digits", manifest, printable(digest));
  return store / "blobs" / ("sha256-" + digest.substr(kHash.size()));
}

// The file of the first layer of a type, if there is one.
std::optional<fs::path> layer_of(const Json& layers, std::string_view type, const std::string& manifest,
                                 const fs::path& store) {
  const std::string wanted = "application/vnd.ollama.image." + std::string(type);
  for (const Json& layer : layers) {
    if (layer.is_object() && layer.contains("mediaType") && layer["mediaType"] == wanted)
      return blob_of(layer, manifest, store);
  }
  return std::nullopt;
}

Json parse_manifest(const fs::path& path, const std::string& shown) {
  Json manifest;
  try {
    manifest = parse_json(read_text_file(path, kMostManifestBytes));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadRequest) throw;
    fail(ErrorCode::kBadFile, "{}: {}", shown, error.what());
  }
  if (!manifest.is_object() || !manifest.contains("layers") || !manifest["layers"].is_array())
    fail(ErrorCode::kBadFile, "{}: no manifest: expected an object with layers", shown);
  return manifest;
}

}  // namespace

fs::path ollama_store() {
  if (const char* folder = std::getenv("OLLAMA_MODELS"); folder != nullptr && *folder != '\0') return folder;
  const char* home = std::getenv("HOME");
  return fs::path(home == nullptr ? "" : home) / ".ollama/models";
}

OllamaModel find_ollama_model(const std::string& name, const fs::path& store) {
  const fs::path path = manifest_of(parse_name(name), name, store);
  const std::string shown = printable(path.native(), 300);
  const Json manifest = parse_manifest(path, shown);
  const Json& layers = manifest["layers"];
  const std::optional<fs::path> model = layer_of(layers, "model", shown, store);
  if (!model) fail(ErrorCode::kBadFile, "{}: the manifest has no layer with a model", shown);
  OllamaModel result = {*model, std::nullopt, std::nullopt};
  if (const auto file = layer_of(layers, "template", shown, store))
    result.chat_template = read_text_file(*file, kMostManifestBytes);
  if (const auto file = layer_of(layers, "params", shown, store))
    result.parameters = read_text_file(*file, kMostManifestBytes);
  return result;
}

}  // namespace lockstep
