// A made-up model as a file and an engine that has read it.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "forge/tiny_model.h"

namespace lockstep::forge {

// The file is called `name`, in the test's own folder.
inline std::unique_ptr<engine::Engine> load_engine(const TinyModel& model, const std::string& name,
                                                   const engine::EngineOptions& options) {
  const auto path = test_file(name);
  model.write(path);
  return engine::Engine::load(path, options);
}

}  // namespace lockstep::forge
