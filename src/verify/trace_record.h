// What a trace keeps of a tensor: enough to tell whether another engine computed the same. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/observer.h"

namespace lockstep::verify {

inline constexpr int64_t kListed = 4;  // values kept from each end

struct TraceRecord {
  std::string name;
  std::string op;
  std::array<int64_t, 4> ne;
  double sum;  // this and the next in double, element after element as memory has them
  double sumsq;
  float min;
  float max;
  std::vector<float> first;
  std::vector<float> last;
};

[[nodiscard]] TraceRecord summarize(const model::TensorView& tensor);

// The record as a line of a trace has it. A number that is not finite is null.
[[nodiscard]] nlohmann::ordered_json to_json(const TraceRecord& record);

}  // namespace lockstep::verify
