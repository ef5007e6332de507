// The forms in which biases of logits are given: ID(+|-)V on a command line; in a request also {"ID": V} and [[ID, V]].
#pragma once

#include <string_view>
#include <vector>

#include "json_text.h"
#include "sampling/logit_bias.h"

namespace lockstep {

// "15043+1", "15043-0.5", "15043-inf". Error kBadRequest naming the entry.
[[nodiscard]] sampling::LogitBias parse_logit_bias(std::string_view text);

// {"15043": 1, "15044": false}, [[15043, 1], "15044-inf"] or one text; false is -inf. Error kBadRequest naming the
// entry.
[[nodiscard]] std::vector<sampling::LogitBias> logit_bias_of(const Json& value);

}  // namespace lockstep
