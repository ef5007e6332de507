// What differs between model families, as data. The forward pass is one function; a family only says which parts it
// has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/table.h"
#include "model/site.h"

namespace lockstep::model {

// RMS norm of queries and keys, between their product and the rotation: of each head, or of all heads as one vector.
enum class QkNorm { kNone, kEachHead, kWholeRow };

// Where llama.cpp's names for the same tensor differ between families.
struct TraceNames {
  Site attn_added = kFfnInp;            // the residual stream after attention
  Site scaled_embedding = kEmbd;        // kEmbd: the embedding has a name only once it is scaled
  bool numbered_ffn_post_norm = false;  // ffn_post_norm-3, or ffn_post_norm in every layer
};

// Whether a feed-forward is a mixture of experts (experts.h): a matter of the file, or always.
enum class Experts { kNone, kOptional, kRequired };

// What the gate of the feed-forward goes through.
enum class Activation { kSilu, kGelu };

struct Family {
  std::string_view name;           // value of general.architecture
  kernels::RopePairing pairing;    // which elements of a head rotate together
  bool requires_qkv_bias = false;  // attn_{q,k,v}.bias must be there (qwen2); elsewhere they are optional
  QkNorm qk_norm = QkNorm::kNone;
  bool pre_norms = true;            // before attention and feed-forward
  bool post_norms = false;          // of their results, before these are added to the residual stream
  int64_t unrotated_every = 0;      // every so-manieth layer has no rotation; 0: no layer
  bool has_scales = false;          // embedding_scale, residual_scale and logit_scale
  bool embedding_by_width = false;  // embeddings times sqrt(embedding_length)
  Activation activation = Activation::kSilu;
  // All layers but every so-manieth attend to the last attention.sliding_window positions; 0: the family has no
  // windows.
  int64_t window_pattern = 0;
  int64_t default_window = 0;
  bool unscaled_windows = false;  // windowed layers rotate without the scaling of others, with
  float local_freq_base = 0.0f;   // a base of their own where the file names none; 0: that of all
  bool ignores_window = false;    // a window of the file is not applied, as in llama.cpp; loading warns of it
  // Queries times 1 + attention.temperature_scale * ln(1 + how often the original context lies before them).
  bool query_temperature = false;
  // Defaults of {attn,final}_logit_softcapping; none: the family does not have it.
  std::optional<float> attn_softcap = {};
  std::optional<float> final_softcap = {};
  Experts experts = Experts::kNone;
  bool fused_matrices = false;    // attn_qkv, and gate and up in one ffn_up
  bool long_rope = false;         // rope_factors_short and _long, and a rotation of a part of each head
  int64_t wide_query_layers = 0;  // the model with so many layers scales scores by 1 / sqrt(width / heads)
  TraceNames trace = {};
};

[[nodiscard]] std::span<const Family> families();

// Error kUnsupported naming `architecture` and the list of those supported.
[[nodiscard]] const Family& find_family(std::string_view architecture);

}  // namespace lockstep::model
