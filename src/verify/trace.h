// Records the named tensors of the passes that it observes, and keeps some of them whole.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/catching_observer.h"
#include "verify/trace_record.h"

namespace lockstep::verify {

class Trace : public CatchingObserver {
 public:
  using Select = std::function<bool(const model::TensorView&)>;

  // Records what `select` wants; all when there is none.
  explicit Trace(Select select) : select_(std::move(select)) {}

  // Called with whole tensors of this name: of every pass that it occurs in, the last one with the name (a name may
  // stand for several stages, as Qcur-0 before and after the rotation).
  using Keep = std::function<void(std::span<const float>)>;
  void keep(const std::string& name, Keep keep) { kept_.push_back({name, std::move(keep), {}, false}); }

  [[nodiscard]] const std::vector<TraceRecord>& records() const noexcept { return records_; }

  // After the last pass. Throws what failed; error kNotFound for a name to keep that no pass had.
  void finish();

 private:
  struct Kept {
    std::string name;
    Keep keep;
    std::vector<float> data;  // of the present pass
    bool found;
  };

  void look_at(const model::TensorView& tensor) override;
  void hand_out();

  Select select_;
  std::vector<TraceRecord> records_;
  std::vector<Kept> kept_;
};

}  // namespace lockstep::verify
