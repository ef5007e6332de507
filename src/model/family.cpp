#include "model/family.h"

#include <array>

#include "base/error.h"

namespace lockstep::model {
namespace {

using kernels::RopePairing;

constexpr std::array kFamilies = {
    // Llama 1-3, Mistral, SmolLM2, Yi, ...: Touvron et al. 2023. Converters permute Q and K for adjacent pairs.
    Family{.name = "llama", .pairing = RopePairing::kAdjacent, .requires_qkv_bias = false},
    // Yang et al. 2024, "Qwen2 Technical Report": biases on Q, K and V, rotation by halves.
    Family{.name = "qwen2", .pairing = RopePairing::kHalves, .requires_qkv_bias = true},
};

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

const Family& find_family(std::string_view architecture) {
  std::string names;
  for (const Family& family : kFamilies) {
    if (family.name == architecture) return family;
    names += names.empty() ? "" : ", ";
    names += family.name;
  }
  fail(ErrorCode::kUnsupported, "general.architecture \"{}\" is not supported; supported: {}", printable(architecture),
       names);
}

}  // namespace lockstep::model
