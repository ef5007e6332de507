#include "model/site.h"

#include <fmt/format.h>

#include <array>

namespace lockstep::model {

SiteName site_name(Site site) {
  constexpr std::array<SiteName, kSites> kNames = {{{"embd", "GET_ROWS"},
                                                    {"inp_scaled", "SCALE"},
                                                    {"norm", "RMS_NORM"},
                                                    {"attn_norm", "MUL"},
                                                    {"Qcur", "MUL_MAT"},
                                                    {"Qcur_normed", "MUL"},
                                                    {"Qcur_attn_temp_scaled", "MUL"},
                                                    {"Vcur", "MUL_MAT"},
                                                    {"Kcur", "MUL_MAT"},
                                                    {"Kcur_normed", "MUL"},
                                                    {"kqv_out", "CONT"},
                                                    {"attn_out", "MUL_MAT"},
                                                    {"attn_post_norm", "MUL"},
                                                    {"ffn_inp", "ADD"},
                                                    {"sa_out", "ADD"},
                                                    {"ffn_norm", "MUL"},
                                                    {"ffn_gate", "MUL_MAT"},
                                                    {"ffn_up", "MUL_MAT"},
                                                    {"ffn_swiglu", "SWIGLU"},
                                                    {"ffn_geglu", "GEGLU"},
                                                    {"ffn_moe_logits", "MUL_MAT"},
                                                    {"ffn_moe_probs", "SOFT_MAX"},
                                                    {"ffn_moe_topk", "VIEW"},
                                                    {"ffn_moe_weights", "GET_ROWS"},
                                                    {"ffn_moe_weights_sum", "SUM_ROWS"},
                                                    {"ffn_moe_weights_sum_clamped", "CLAMP"},
                                                    {"ffn_moe_weights_norm", "DIV"},
                                                    {"ffn_moe_weights_scaled", "SCALE"},
                                                    {"ffn_moe_gate", "MUL_MAT_ID"},
                                                    {"ffn_moe_up", "MUL_MAT_ID"},
                                                    {"ffn_moe_swiglu", "SWIGLU"},
                                                    {"ffn_moe_down", "MUL_MAT_ID"},
                                                    {"ffn_moe_weighted", "MUL"},
                                                    {"ffn_moe_out", "ADD"},
                                                    {"ffn_out", "MUL_MAT"},
                                                    {"ffn_post_norm", "MUL"},
                                                    {"l_out", "ADD"},
                                                    {"result_norm", "MUL"},
                                                    {"result_output", "MUL_MAT"}}};
  return kNames[static_cast<size_t>(site)];
}

std::string tensor_name(Site site, int64_t layer, int64_t n_layers) {
  const std::string_view name = site_name(site).name;
  return layer == n_layers ? std::string(name) : fmt::format("{}-{}", name, layer);
}

}  // namespace lockstep::model
