// The options that say which model runs and how it is computed, and loading by them.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "receipt.h"

namespace lockstep {

// The texts as given; looked at after the whole command line has been read.
struct ModelOptions {
  std::optional<std::string> positional;  // MODEL
  std::string flag;                       // -m
  std::string ctx_size = "0";
  std::string batch_size = "512";
  std::string threads = "0";
  std::string compute = "fast";
  std::string kv_type = "f16";
  std::string isa = "auto";
};

// MODEL and -m alone: for commands that compute nothing.
void add_model_argument(CLI::App& command, ModelOptions& options);
// -c, -b, -t, --compute, --kv-type, --isa; the defaults are those that `options` has.
void add_compute_options(CLI::App& command, ModelOptions& options);
// --isa alone; the environment's LOCKSTEP_ISA is its default.
void add_isa_option(CLI::App& command, ModelOptions& options, const std::string& help);

// With -m, what stands in MODEL's place is the first of the other arguments: it is moved to `next`, which must be free.
void settle_model_argument(ModelOptions& options, std::optional<std::string>& next);
void settle_model_argument(ModelOptions& options);  // where there are no other arguments

// Error kUsage for a value that no model could take.
[[nodiscard]] engine::EngineOptions engine_options(const ModelOptions& options);

[[nodiscard]] std::filesystem::path model_path(const ModelOptions& options);

// Of the model's metadata alone.
[[nodiscard]] tokenizer::Tokenizer load_tokenizer(const ModelOptions& options);

// What was odd about the file and tolerated, for the end of a run: where something fails, the error is the first line.
void print_warnings(const tokenizer::Tokenizer& tokenizer);

struct LoadedModel {
  std::filesystem::path path;
  std::unique_ptr<engine::Engine> engine;
  FileFacts file;
  double load_ms = 0;
};

// Loads with a progress line on a terminal. Throws Interrupted when the user gave up.
[[nodiscard]] LoadedModel load_model(const ModelOptions& options);

}  // namespace lockstep
