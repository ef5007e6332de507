// Any bytes as the manifest of a model in an Ollama store.
#include <unistd.h>

#include <filesystem>

#include "forge/memory_file.h"
#include "fuzz/fuzz_input.h"
#include "ollama_store.h"

namespace lockstep::fuzz {
namespace {

namespace fs = std::filesystem;

// With one model, m:latest, whose template and parameters are files of two bytes.
class Store {
 public:
  Store() : path_(fs::temp_directory_path() / ("lockstep-manifest-fuzz-" + std::to_string(::getpid()))) {
    const fs::path folder = path_ / "manifests/registry/library/m";
    fs::create_directories(folder);
    fs::create_directories(path_ / "blobs");
    fs::create_symlink(manifest_.path(), folder / "latest");
    for (const char digit : {'1', '2'})
      fs::create_symlink(blob_.path(), path_ / "blobs" / ("sha256-" + std::string(64, digit)));
    blob_.set("{}");
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  void set_manifest(std::string_view bytes) { manifest_.set(bytes); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  forge::MemoryFile manifest_;
  forge::MemoryFile blob_;
};

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  static fuzz::Store store;
  store.set_manifest({reinterpret_cast<const char*>(data), size});
  (void)fuzz::accepts([] {
    const OllamaModel model = find_ollama_model("m", store.path());
    fuzz::require(model.path.parent_path() == store.path() / "blobs", "a manifest names nothing outside its store");
  });
  return 0;
}
