#include "served_options.h"

#include <random>

#include "base/error.h"

namespace lockstep {
namespace {

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

engine::GenerateOptions served_options(const GenerationSettings& settings, const engine::Engine& engine) {
  engine::GenerateOptions options = settings.generate;
  options.sampling.seed = settings.seed ? *settings.seed : random_seed();
  if (options.logprobs > engine.n_vocab()) {
    fail(ErrorCode::kBadRequest, "option logprobs: {} is out of range, expected 0 to {}, the tokens of the vocabulary",
         options.logprobs, engine.n_vocab());
  }
  return options;
}

}  // namespace lockstep
