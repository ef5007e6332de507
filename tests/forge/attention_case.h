// For tests only: one chunk of a KV cache with random heads, and what kernels make of it.
#pragma once

#include <limits>
#include <vector>

#include "forge/random_data.h"
#include "kernels/table.h"

namespace lockstep::forge {

struct AttentionResult {
  std::vector<uint8_t> k, v;       // the chunk as stored
  std::vector<float> max_and_sum;  // [n_group][2]
  std::vector<float> o;            // [n_group, head_dim], not divided
};

struct AttentionCase {
  kernels::CacheType type;
  int64_t head_dim, n_positions, n_group;
  float scale;
  std::vector<float> q;       // [n_group, head_dim]
  std::vector<float> keys;    // [n_positions, head_dim]
  std::vector<float> values;  // [n_positions, head_dim]
  int64_t first_position = 0;
  float softcap = 0.0f;
  int64_t heads_per_token = 0;  // otherwise the last of the tokens in n_group sees n_positions

  // What the definition says of one of the tokens.
  [[nodiscard]] AttentionCase of_token(int64_t token) const {
    AttentionCase one = *this;
    one.n_group = heads_per_token;
    one.heads_per_token = 0;
    one.n_positions = n_positions - (n_group / heads_per_token - 1) + token;
    const auto width = heads_per_token * head_dim;
    one.q.assign(q.begin() + token * width, q.begin() + (token + 1) * width);
    return one;
  }

  // Positions past n_positions, and before first_position, hold NaN, as another sequence's leftovers might: they must
  // not matter.
  [[nodiscard]] AttentionResult run(const kernels::KernelTable& table) const {
    const auto chunk_bytes = static_cast<size_t>(kernels::cache_chunk_bytes(type, head_dim));
    AttentionResult result = {std::vector<uint8_t>(chunk_bytes, 0xff), std::vector<uint8_t>(chunk_bytes, 0xff), {}, {}};
    for (int64_t p = first_position; p < n_positions; ++p) {
      table.append_k[static_cast<int>(type)](result.k.data(), p, keys.data() + p * head_dim, head_dim);
      table.append_v[static_cast<int>(type)](result.v.data(), p, values.data() + p * head_dim, head_dim);
    }
    std::vector<kernels::AttentionPartial> partial(static_cast<size_t>(n_group));
    result.o.assign(q.size(), std::numeric_limits<float>::quiet_NaN());
    const int64_t n_later = heads_per_token == 0 ? 0 : (n_group - 1) / heads_per_token;
    table.attend_chunk[static_cast<int>(type)](
        {q.data(), n_group, head_dim, result.k.data(), result.v.data(), n_positions - n_later, scale, result.k.data(),
         first_position, softcap, heads_per_token},
        partial.data(), result.o.data());
    for (const kernels::AttentionPartial& p : partial)
      result.max_and_sum.insert(result.max_and_sum.end(), {p.max, p.sum});
    return result;
  }
};

inline AttentionCase random_attention(kernels::CacheType type, int64_t head_dim, int64_t n_positions, int64_t n_group,
                                      RandomData& random) {
  return {type,
          head_dim,
          n_positions,
          n_group,
          1.0f / std::sqrt(static_cast<float>(head_dim)),
          random.normals(n_group * head_dim, 2.0f),
          random.normals(n_positions * head_dim, 2.0f),
          random.normals(n_positions * head_dim),
          0,
          0.0f,
          0};
}

}  // namespace lockstep::forge
