// The hyper-parameters of a model, read from metadata and checked as a whole: whoever holds a Config may divide by any
// of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf/metadata.h"
#include "model/family.h"

namespace lockstep::model {

// How positions become angles: theta_i = position * freq_scale * freq_base^(-2i / n_rot), divided by the model's own
// frequency factors where it has them (Llama 3.1). With a ramp (YaRN, Peng et al. 2023), pairs up to ramp_begin are not
// scaled, those from ramp_end on wholly, those between in part.
struct RopeConfig {
  int64_t n_rot;  // rotated elements of a head, even, at most head_dim
  float freq_base;
  float freq_scale;  // 1 / scaling factor
  bool has_ramp;
  float ramp_begin, ramp_end;
  float magnitude;  // of the rotated vectors
};

struct Config {
  const Family* family;
  int64_t n_layers;
  int64_t n_embd;
  int64_t n_heads;
  int64_t n_kv_heads;      // divides n_heads
  int64_t head_dim;        // of queries, keys and values
  int64_t n_ff;            // of the feed-forward, or of each expert
  int64_t n_experts;       // 0: one feed-forward for all tokens
  int64_t n_experts_used;  // by a token, at most n_experts
  float expert_weights_scale;
  int64_t n_vocab;  // tokens of the vocabulary; rows beyond it in the matrices are never used
  int64_t context_length;
  int64_t original_context;  // before it was extended; frequency factors depend on it (LongRoPE)
  float rms_eps;
  float attention_scale;  // 1 / sqrt(head_dim) unless the file says otherwise
  float embedding_scale;  // factors of the embedding, of what is added to the residual stream, and of the logits
  float residual_scale;
  float logit_factor;
  float attn_softcap;  // 0: none
  float final_softcap;
  int64_t window;  // positions that windowed layers attend to, their own included; 0: no layer is windowed
  std::vector<bool> windowed_layers;  // [n_layers]
  RopeConfig rope;
  RopeConfig local_rope;    // of windowed layers; the same as `rope` where there is no other
  float query_temperature;  // 0: none
  std::string warning;      // of a key that is not applied; empty: none
  int64_t unrotated_every;  // every so-manieth layer has no rotation; 0: no layer

  [[nodiscard]] bool has_experts() const noexcept { return n_experts > 0; }
  // Feed-forwards that a token goes through in a layer.
  [[nodiscard]] int64_t n_branches() const noexcept { return has_experts() ? n_experts_used : 1; }
  [[nodiscard]] int64_t n_group() const noexcept { return n_heads / n_kv_heads; }
  [[nodiscard]] int64_t q_width() const noexcept { return n_heads * head_dim; }
  [[nodiscard]] int64_t kv_width() const noexcept { return n_kv_heads * head_dim; }
  [[nodiscard]] bool is_rotated(int64_t layer) const noexcept {
    return unrotated_every == 0 || (layer + 1) % unrotated_every != 0;
  }
  [[nodiscard]] bool is_windowed(int64_t layer) const noexcept {
    return window > 0 && windowed_layers[static_cast<size_t>(layer)];
  }
  // The first position that a row at `position` attends to.
  [[nodiscard]] int64_t first_attended(int64_t layer, int64_t position) const noexcept {
    return is_windowed(layer) && position >= window ? position + 1 - window : 0;
  }
  // Angles of a row: for `rope`, then, where windowed layers differ, for `local_rope`.
  [[nodiscard]] bool has_local_rope() const noexcept { return window > 0 && family->unscaled_windows; }
  [[nodiscard]] int64_t n_angles() const noexcept { return has_local_rope() ? 2 * rope.n_rot : rope.n_rot; }
  [[nodiscard]] int64_t first_angle(int64_t layer) const noexcept {
    return has_local_rope() && is_windowed(layer) ? rope.n_rot : 0;
  }
  // Something becomes of a layer's results before they are added to the residual stream.
  [[nodiscard]] bool adds_apart() const noexcept { return family->post_norms || residual_scale != 1.0f; }
};

// Errors name key and value: kUnsupported for an architecture, scaling or attention variant that lockstep does not
// compute, kBadFile for values that contradict each other or are out of range, kNotFound for a missing required key.
[[nodiscard]] Config load_config(const gguf::Metadata& metadata, int64_t n_vocab);

}  // namespace lockstep::model
