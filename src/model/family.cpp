#include "model/family.h"

#include <array>

#include "base/error.h"

namespace lockstep::model {
namespace {

using kernels::RopePairing;

constexpr std::array kFamilies = {
    // Llama 1-3, Mistral, SmolLM2, Yi, ...: Touvron et al. 2023. Converters permute Q and K for adjacent pairs. With
    // experts: Jiang et al. 2024, "Mixtral of Experts".
    Family{.name = "llama", .pairing = RopePairing::kAdjacent, .experts = Experts::kOptional},
    // Yang et al. 2024, "Qwen2 Technical Report": biases on Q, K and V, rotation by halves.
    Family{.name = "qwen2", .pairing = RopePairing::kHalves, .requires_qkv_bias = true},
    // Yang et al. 2025, "Qwen3 Technical Report": a norm of each query and key head instead of the biases.
    Family{.name = "qwen3", .pairing = RopePairing::kHalves, .qk_norm = QkNorm::kEachHead},
    // The same with experts in every layer.
    Family{.name = "qwen3moe",
           .pairing = RopePairing::kHalves,
           .qk_norm = QkNorm::kEachHead,
           .experts = Experts::kRequired},
    // Hugging Face 2025, SmolLM3: no rotation in every fourth layer (Yang et al. 2025, "RoPE to NoPE and back again").
    Family{.name = "smollm3", .pairing = RopePairing::kAdjacent, .unrotated_every = 4},
    // IBM 2024, "Granite 3.0 Language Models": llama with the multipliers of Yang et al. 2022, "Tensor Programs V".
    Family{.name = "granite", .pairing = RopePairing::kAdjacent, .has_scales = true},
    // OLMo et al. 2024, "2 OLMo 2 Furious": norms after attention and feed-forward instead of before, and of all
    // queries, and all keys, of a token as one vector. OLMo 3 (2025): windows in three of four layers.
    Family{.name = "olmo2",
           .pairing = RopePairing::kHalves,
           .qk_norm = QkNorm::kWholeRow,
           .pre_norms = false,
           .post_norms = true,
           .window_pattern = 4,
           .unscaled_windows = true},
    // Mistral AI 2025, Ministral 3: YaRN without its magnitude, and warmer queries beyond the original context.
    Family{.name = "mistral3",
           .pairing = RopePairing::kAdjacent,
           .query_temperature = true,
           .experts = Experts::kOptional},
    // Abdin et al. 2024, "Phi-3 Technical Report": fused matrices; frequency factors of Ding et al. 2024, "LongRoPE".
    Family{.name = "phi3",
           .pairing = RopePairing::kHalves,
           .ignores_window = true,
           .fused_matrices = true,
           .long_rope = true},
    // Gemma Team 2024, "Gemma 2": norms before and after, windows in every other layer, capped scores and logits.
    Family{.name = "gemma2",
           .pairing = RopePairing::kHalves,
           .post_norms = true,
           .embedding_by_width = true,
           .activation = Activation::kGelu,
           .window_pattern = 2,
           .default_window = 4096,
           .attn_softcap = 50.0f,
           .final_softcap = 30.0f,
           .wide_query_layers = 46,
           .trace = {.attn_added = kSaOut, .scaled_embedding = kInpScaled}},
    // Gemma Team 2025, "Gemma 3": norms of query and key heads instead of capped scores; a window in five of six
    // layers, which rotate with a base of their own.
    Family{.name = "gemma3",
           .pairing = RopePairing::kHalves,
           .qk_norm = QkNorm::kEachHead,
           .post_norms = true,
           .embedding_by_width = true,
           .activation = Activation::kGelu,
           .window_pattern = 6,
           .unscaled_windows = true,
           .local_freq_base = 10000.0f,
           .final_softcap = 0.0f,
           .wide_query_layers = 62,
           .trace = {.attn_added = kSaOut, .scaled_embedding = kInpScaled, .numbered_ffn_post_norm = true}},
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
