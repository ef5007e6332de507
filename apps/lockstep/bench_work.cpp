#include "bench_work.h"

#include <cmath>
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

// Of n experts, k for each token, n * (1 - (1 - k/n)^tokens) are read when tokens choose at random.
PassWork experts(const model::Config& c, const model::LayerWeights& w, int64_t n_tokens) {
  const double n = static_cast<double>(c.n_experts);
  const double used = static_cast<double>(c.n_experts_used);
  const double share = 1.0 - std::pow(1.0 - used / n, static_cast<double>(n_tokens));
  PassWork work;
  for (const model::Matrix* all : {&w.gate, &w.up, &w.down}) {
    const PassWork of_all = product(*all, all->data.n_rows, n_tokens);
    work += PassWork{of_all.weight_bytes * share, of_all.macs * used / n};
  }
  return work;
}

}  // namespace

PassWork pass_work(const model::Model& model, int64_t n_rows, int64_t n_wanted) {
  PassWork work;
  for (const model::LayerWeights& w : model.weights.layers) {
    const bool is_last = &w == &model.weights.layers.back();
    work += products({&w.q, &w.k, &w.v}, n_rows);
    const int64_t n_rest = is_last ? n_wanted : n_rows;
    work += products({&w.attn_output}, n_rest);
    if (model.config.has_experts()) {
      work += products({&w.router}, n_rest);
      work += experts(model.config, w, n_rest);
    } else {
      work += products({&w.gate, &w.up, &w.down}, n_rest);
    }
  }
  work += product(model.weights.output, model.config.n_vocab, n_wanted);
  return work;
}

}  // namespace lockstep
