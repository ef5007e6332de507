// For fuzz targets only: an engine with a model of one small layer, of which a fuzzer makes thousands of passes.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "forge/tiny_model.h"

namespace lockstep::fuzz {

// The folder goes with it: what a good file is made in.
class SmallEngine {
 public:
  explicit SmallEngine(const std::string& target)
      : folder_(std::filesystem::temp_directory_path() /
                ("lockstep-" + target + "-fuzz-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    forge::TinyModel(forge::smallest_llama()).write(folder_ / "m.gguf");
    engine::EngineOptions options;
    options.threads = 1;
    options.ctx_size = 256;
    engine_ = engine::Engine::load(folder_ / "m.gguf", options);
  }
  SmallEngine(const SmallEngine&) = delete;
  SmallEngine& operator=(const SmallEngine&) = delete;
  ~SmallEngine() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] engine::Engine& engine() const { return *engine_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace lockstep::fuzz
