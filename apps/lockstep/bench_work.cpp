#include "bench_work.h"

#include <initializer_list>

namespace lockstep {
namespace {

// The product of `rows` rows of a matrix with n_tokens tokens; nothing is read for no tokens.
PassWork product(const model::Matrix& matrix, int64_t rows, int64_t n_tokens) {
  if (n_tokens == 0) return {};
  return {static_cast<double>(rows) * static_cast<double>(matrix.data.row_bytes),
          static_cast<double>(rows) * static_cast<double>(matrix.data.n_cols) * static_cast<double>(n_tokens)};
}

PassWork products(std::initializer_list<const model::Matrix*> matrices, int64_t n_tokens) {
  PassWork work;
  for (const model::Matrix* matrix : matrices) work += product(*matrix, matrix->data.n_rows, n_tokens);
  return work;
}

}  // namespace

PassWork pass_work(const model::Model& model, int64_t n_rows, int64_t n_wanted) {
  PassWork work;
  for (const model::LayerWeights& w : model.weights.layers) {
    const bool is_last = &w == &model.weights.layers.back();
    work += products({&w.q, &w.k, &w.v}, n_rows);
    work += products({&w.attn_output, &w.gate, &w.up, &w.down}, is_last ? n_wanted : n_rows);
  }
  work += product(model.weights.output, model.config.n_vocab, n_wanted);
  return work;
}

}  // namespace lockstep
