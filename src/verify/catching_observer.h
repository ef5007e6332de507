// An observer whose work may fail: a pass cannot be left by an exception, so the first one waits until the pass is
// over. One thread at a time, as all observers.
#pragma once

#include <exception>

#include "model/observer.h"

namespace lockstep::verify {

class CatchingObserver : public model::Observer {
 public:
  void see(const model::TensorView& tensor) noexcept final {
    if (failure_) return;
    try {
      look_at(tensor);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  // Throws what went wrong while looking, if anything did.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 protected:
  virtual void look_at(const model::TensorView& tensor) = 0;

 private:
  std::exception_ptr failure_;
};

}  // namespace lockstep::verify
