// What differs between model families, as data. The forward pass is one function; a family only says which parts it
// has.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/table.h"

namespace lockstep::model {

struct Family {
  std::string_view name;         // value of general.architecture
  kernels::RopePairing pairing;  // which elements of a head rotate together
  bool requires_qkv_bias;        // attn_{q,k,v}.bias must be there (qwen2); elsewhere they are optional
};

[[nodiscard]] std::span<const Family> families();

// Error kUnsupported naming `architecture` and the list of those supported.
[[nodiscard]] const Family& find_family(std::string_view architecture);

}  // namespace lockstep::model
