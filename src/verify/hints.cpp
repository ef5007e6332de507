#include "verify/hints.h"

#include <array>

namespace lockstep::verify {
namespace {

struct Hint {
  std::string_view name;
  std::string_view op;  // empty: any
  std::string_view text;
};

constexpr std::string_view kProjection =
    "the matrix's type (BF16 read as F16?), its data offset, or rows permuted for another rotation";
constexpr std::string_view kRotation =
    "the rotation: adjacent pairs against halves, its base or scaling, or positions off by one (position 0 is the same "
    "in all)";
constexpr std::string_view kBias = "a bias missing, or that of another matrix";
constexpr std::string_view kNormWeight = "the norm's weight: missing, of another layer, or with an offset";

constexpr std::array kHints = {
    Hint{"embd", "", "other token ids (BOS twice or never?), the embedding's type, or an embedding scale"},
    Hint{"inp_scaled", "", "the embedding scale: the square root of the width, or the file's"},
    Hint{"norm", "", "the norm itself: its epsilon, epsilon outside the root, or what was added to its input before"},
    Hint{"attn_norm", "", kNormWeight},
    Hint{"ffn_norm", "", kNormWeight},
    Hint{"result_norm", "", kNormWeight},
    Hint{"attn_post_norm", "", kNormWeight},
    Hint{"ffn_post_norm", "", kNormWeight},
    Hint{"Qcur_normed", "", kNormWeight},
    Hint{"Kcur_normed", "", kNormWeight},
    Hint{"Qcur", "MUL_MAT", kProjection},
    Hint{"Kcur", "MUL_MAT", kProjection},
    Hint{"Vcur", "MUL_MAT", kProjection},
    Hint{"Qcur", "ADD", kBias},
    Hint{"Kcur", "ADD", kBias},
    Hint{"Vcur", "ADD", kBias},
    Hint{"Qcur", "ROPE", kRotation},
    Hint{"Kcur", "ROPE", kRotation},
    Hint{"kqv_out", "",
         "attention: query head h uses KV head h / (heads / KV heads), not h modulo KV heads; its scale; the mask; V "
         "transposed; another type of KV cache"},
    Hint{"attn_out", "", "the attention's output matrix: its type or offset"},
    Hint{"ffn_inp", "", "the residual stream: what attention's result is added to"},
    Hint{"sa_out", "", "the residual stream: what attention's result is added to"},
    Hint{"ffn_gate", "", "the gate's matrix: its type, its offset, or exchanged with up"},
    Hint{"ffn_up", "", "the up matrix: its type, its offset, or exchanged with gate"},
    Hint{"ffn_swiglu", "", "the activation: SiLU on the gate, not on up, and not GELU"},
    // Both numbers are those of Gemma 3 270M in double precision against llama.cpp (NUMERICS.md, gelu).
    Hint{"ffn_geglu", "",
         "the activation: GELU by tanh on the gate, of half-precision numbers, not SiLU; or, below 1e-4 here and "
         "3e-3 in later layers, nothing: gates one ulp apart that were rounded to different half-precision numbers "
         "(then --tolerance 3e-3)"},
    Hint{"ffn_out", "", "the down matrix: its type or offset"},
    Hint{"Qcur_attn_temp_scaled", "", "the temperature of queries: its scale, or the original context it counts in"},
    Hint{"ffn_moe_logits", "", "the router's matrix: its type (activations rounded to F16 before it?) or its offset"},
    Hint{"ffn_moe_probs", "", "the router's activation: a softmax over all experts, not a sigmoid"},
    Hint{"ffn_moe_topk", "", "how many experts are chosen, or two that are nearly equal"},
    Hint{"ffn_moe_weights", "",
         "the chosen experts' probabilities: of a softmax over all of them, in the order chosen"},
    Hint{"ffn_moe_weights_sum", "", "the chosen experts' probabilities, which are added here"},
    Hint{"ffn_moe_weights_sum_clamped", "", "the least that weights are divided by: 2^-14"},
    Hint{"ffn_moe_weights_norm", "", "the chosen experts' weights: divided by their sum, or not"},
    Hint{"ffn_moe_weights_scaled", "", "the file's expert_weights_scale"},
    Hint{"ffn_moe_up", "", "the experts' up matrices: type, offset, or which expert is read"},
    Hint{"ffn_moe_gate", "", "the experts' gate matrices: type, offset, or which expert is read"},
    Hint{"ffn_moe_down", "", "the experts' down matrices: type, offset, or which expert is read"},
    Hint{"ffn_moe_weighted", "", "the weight of each expert: the order of the weights is that of the chosen"},
    Hint{"l_out", "", "the residual stream: what the feed-forward's result is added to"},
    Hint{"result_output", "", "the output matrix: tied to the embedding or not, its type, or a padded vocabulary"},
};

}  // namespace

std::string_view hint_for(std::string_view name, std::string_view op) {
  const std::string_view base = name.substr(0, name.find('-'));
  for (const Hint& hint : kHints) {
    if (hint.name == base && (hint.op.empty() || hint.op == op)) return hint.text;
  }
  return {};
}

}  // namespace lockstep::verify
