// What a forward pass has to do at least: bytes of weights to read and multiply-adds of the linear layers. Held against
// the time it took, this says how far from the machine's limits a run was.
#pragma once

#include <cstdint>

#include "model/model.h"

namespace lockstep {

struct PassWork {
  // Each matrix once, the head only when logits are wanted; no embedding rows. Of experts as many as so many tokens
  // would use if each chose them at random: for one token those that it uses.
  double weight_bytes = 0;
  double macs = 0;

  PassWork& operator+=(const PassWork& other) {
    weight_bytes += other.weight_bytes;
    macs += other.macs;
    return *this;
  }
};

// Of n_rows tokens of which n_wanted want logits: after the last attention only those go on (model/layer.cpp). The head
// counts with the rows that are tokens of the vocabulary, a tied head like any other.
[[nodiscard]] PassWork pass_work(const model::Model& model, int64_t n_rows, int64_t n_wanted);

}  // namespace lockstep
