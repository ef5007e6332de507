#include "verify/trace.h"

#include "base/error.h"

namespace lockstep::verify {

void Trace::look_at(const model::TensorView& tensor) {
  if (tensor.name == model::site_name(model::kEmbd).name) hand_out();  // a new pass begins
  if (!select_ || select_(tensor)) records_.push_back(summarize(tensor));
  for (Kept& kept : kept_) {
    if (kept.name != tensor.name) continue;
    kept.data.resize(static_cast<size_t>(tensor.n_elements()));
    for (int64_t i = 0; i < tensor.n_elements(); ++i) kept.data[static_cast<size_t>(i)] = tensor.at(i);
  }
}

void Trace::hand_out() {
  for (Kept& kept : kept_) {
    if (kept.data.empty()) continue;
    kept.keep(kept.data);
    kept.data.clear();
    kept.found = true;
  }
}

void Trace::finish() {
  rethrow();
  hand_out();
  for (const Kept& kept : kept_) {
    if (!kept.found)
      fail(ErrorCode::kNotFound, "no tensor is called \"{}\"; a trace lists the names", printable(kept.name));
  }
}

}  // namespace lockstep::verify
