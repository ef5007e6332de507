// The tensors of a forward pass that have a name: llama.cpp's names and operations (its evaluation callback shows
// them), so that a trace of ours lies beside one of llama.cpp's line by line, and an error names what others know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::model {

// In the order in which a layer makes them. A family's further tensors get an entry here and one in site.cpp.
enum Site : int64_t {
  kEmbd,
  kInpScaled,
  kNorm,  // normalised, not yet times the weight
  kAttnNorm,
  kQcur,
  kQcurNormed,
  kQcurWarmed,
  kVcur,
  kKcur,
  kKcurNormed,
  kAttnHeads,
  kAttnOut,
  kAttnPostNorm,
  kFfnInp,
  kSaOut,
  kFfnNorm,
  kFfnGate,
  kFfnUp,
  kFfnHidden,
  kFfnHiddenGelu,
  kFfnMoeLogits,
  kFfnMoeProbs,
  kFfnMoeTopk,
  kFfnMoeWeights,
  kFfnMoeWeightsSum,
  kFfnMoeWeightsSumClamped,
  kFfnMoeWeightsNorm,
  kFfnMoeWeightsScaled,
  kFfnMoeGate,
  kFfnMoeUp,
  kFfnMoeHidden,
  kFfnMoeDown,
  kFfnMoeWeighted,
  kFfnMoeOut,
  kFfnOut,
  kFfnPostNorm,
  kLOut,
  kResultNorm,
  kResultOutput,
  kSites
};

struct SiteName {
  std::string_view name;
  std::string_view op;  // what makes it; Qcur, Kcur and Vcur: at first
};

[[nodiscard]] SiteName site_name(Site site);

// "attn_norm-3"; before the first layer and after the last one, where `layer` is n_layers, the name alone.
[[nodiscard]] std::string tensor_name(Site site, int64_t layer, int64_t n_layers);

}  // namespace lockstep::model
