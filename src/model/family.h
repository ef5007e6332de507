// What differs between model families, as data. The forward pass is one function; a family only says which parts it
// has.
#pragma once

#include <cstdint>
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

struct Family {
  std::string_view name;           // value of general.architecture
  kernels::RopePairing pairing;    // which elements of a head rotate together
  bool requires_qkv_bias = false;  // attn_{q,k,v}.bias must be there (qwen2); elsewhere they are optional
  QkNorm qk_norm = QkNorm::kNone;
  bool pre_norms = true;        // before attention and feed-forward
  bool post_norms = false;      // of their results, before these are added to the residual stream
  int64_t unrotated_every = 0;  // every so-manieth layer has no rotation; 0: no layer
  bool has_scales = false;      // embedding_scale, residual_scale and logit_scale
  TraceNames trace = {};
};

[[nodiscard]] std::span<const Family> families();

// Error kUnsupported naming `architecture` and the list of those supported.
[[nodiscard]] const Family& find_family(std::string_view architecture);

}  // namespace lockstep::model
