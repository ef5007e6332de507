#include "model_path.h"

#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "name_list.h"
#include "ollama_store.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".gguf";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// A part of a split model other than the first ("name-00002-of-00005.gguf") cannot be opened by itself.
bool is_later_shard(const std::string& name) {
  const size_t of = name.rfind("-of-");
  return of != name.npos && of >= 6 && name[of - 6] == '-' && name.substr(of - 5, 5) != "00001";
}

// Names without suffix of the models in a folder.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (name.size() <= kSuffix.size() || !name.ends_with(kSuffix) || is_later_shard(name)) continue;
    names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return names;
}

[[noreturn]] void fail_unknown(const std::string& model, const std::vector<fs::path>& folders) {
  std::string places;
  std::vector<std::string> names;
  for (const fs::path& folder : folders) {
    places += (places.empty() ? "" : ", ") + printable(folder.native(), 200);
    for (std::string& name : names_in(folder)) names.push_back(std::move(name));
  }
  const std::string found = names.empty() ? "no models there" : "models there: " + listed_names(std::move(names));
  fail(ErrorCode::kNotFound, "model {}: neither a file nor a name in {}; {}", printable(model, 200), places, found);
}

}  // namespace

std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders;
  if (const char* folder = std::getenv("LOCKSTEP_MODELS"); folder != nullptr && *folder != '\0') {
    folders.emplace_back(folder);
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    folders.push_back(fs::path(home) / ".local/share/lockstep/models");
  }
  folders.emplace_back("models");
  return folders;
}

fs::path find_model(const std::string& model, const std::vector<fs::path>& folders) {
  if (model.empty()) fail(ErrorCode::kNotFound, "the model's name is empty");
  if (is_there(model)) return model;
  if (model.starts_with(kOllamaPrefix))
    return find_ollama_model(model.substr(kOllamaPrefix.size()), ollama_store()).path;
  for (const fs::path& folder : folders) {
    for (const std::string& name : {model, model + std::string(kSuffix)}) {
      if (is_there(folder / name)) return folder / name;
    }
  }
  fail_unknown(model, folders);
}

}  // namespace lockstep
