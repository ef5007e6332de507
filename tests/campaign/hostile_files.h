// For tests only: the model files of public bug reports (tests/cases.md, B01 to B18), made from a good one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep::campaign {

struct HostileFile {
  std::string case_id;  // as in tests/cases.md
  std::string what;     // is wrong with it
  std::string names;    // what its refusal must hold
  std::string bytes;
};

// One after another: all at once would take the memory that is to be measured. `good` is a llama model with its
// vocabulary, the first of its matrices in Q4_0.
void each_hostile_file(std::string_view good, const std::function<void(const HostileFile&)>& visit);

}  // namespace lockstep::campaign
