// What every phase of a forward pass needs to know, bundled: the model, the batch, the working memory.
#pragma once

#include <cstdint>

#include "exec/team.h"
#include "model/batch.h"
#include "model/model.h"
#include "model/observer.h"
#include "model/workspace.h"

namespace lockstep::model {

struct Step {
  const Model& model;
  Batch batch;
  Workspace& work;
  int64_t n_rows;  // rows of work.x in use: those of the batch, after the last attention only those that want logits
  int64_t n_wanted;
  Observer* observer;  // null in production

  [[nodiscard]] bool is_last_layer(int64_t index) const noexcept { return index + 1 == model.config.n_layers; }
  [[nodiscard]] const Config& config() const noexcept { return model.config; }
  [[nodiscard]] const kernels::KernelTable& kernels() const noexcept { return *model.kernels; }

  // Products wait in work.product before they are added to the residual stream.
  [[nodiscard]] bool adds_apart() const noexcept { return observer != nullptr || model.config.adds_apart(); }

  // Remembers the first fault; `layer` is n_layers for the final norm.
  void note_fault(int64_t layer, Site site) const noexcept {
    int64_t none = 0;
    work.fault.compare_exchange_strong(none, 1 + layer * kSites + site, std::memory_order_relaxed);
  }
};

// Shows a tensor to the observer where there is one.
inline void show(const Step& step, const Shown& shown, exec::Member& me) noexcept {
  if (step.observer != nullptr) show_now(step, shown, me);
}

}  // namespace lockstep::model
