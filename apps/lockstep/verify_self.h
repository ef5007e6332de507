// `lockstep verify MODEL --self`: the bit contract on the user's machine, as a table or as JSON.
#pragma once

#include "model_options.h"
#include "output.h"

namespace lockstep {

struct VerifySelfOptions {
  bool full = false;
  bool json = false;
};

// The exit status. `model`: path, compute mode and cache type; the rest is what the check goes through by itself.
[[nodiscard]] int run_verify_self(const ModelOptions& model, const VerifySelfOptions& options, Output& output);

}  // namespace lockstep
