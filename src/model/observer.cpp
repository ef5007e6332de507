#include "model/observer.h"

#include "model/step.h"

namespace lockstep::model {

void show_now(const Step& step, const Shown& shown, exec::Member& me) noexcept {
  me.sync();
  if (me.index() == 0) {
    const int64_t n_layers = step.config().n_layers;
    TensorView tensor = {tensor_name(shown.site, shown.layer, n_layers),
                         shown.op.empty() ? site_name(shown.site).op : shown.op,
                         shown.layer == n_layers ? -1 : shown.layer,
                         {shown.width, step.n_rows, 1, 1},
                         shown.data,
                         shown.width,
                         shown.row_stride};
    if (shown.per_token > 1) tensor.ne = {shown.width, shown.per_token, step.n_rows, 1};
    if (shown.head_dim > 0) tensor.ne = {shown.head_dim, shown.width / shown.head_dim, step.n_rows, 1};
    step.observer->see(tensor);
  }
  me.sync();
}

}  // namespace lockstep::model
