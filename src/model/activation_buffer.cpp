#include "model/activation_buffer.h"

namespace lockstep::model {

ActivationBuffer ActivationBuffer::take(exec::Arena& arena, int64_t n_rows, int64_t width) {
  const int64_t n = n_rows * padded(width);
  return {arena.take<float>(n), arena.take<int8_t>(n), arena.take<float>(n / kernels::kScaleGroup),
          arena.take<int32_t>(n / kernels::kSumGroup)};
}

uint64_t ActivationBuffer::bytes(int64_t n_rows, int64_t width) {
  using exec::array_bytes;
  const int64_t n = n_rows * padded(width);
  return array_bytes<float>(n) + array_bytes<int8_t>(n) + array_bytes<float>(n / kernels::kScaleGroup) +
         array_bytes<int32_t>(n / kernels::kSumGroup);
}

kernels::Activations ActivationBuffer::view(int64_t n_rows, int64_t width) const noexcept {
  const int64_t stride = padded(width);
  return {x.data(),     stride,
          q.data(),     stride,
          scale.data(), stride / kernels::kScaleGroup,
          sum.data(),   stride / kernels::kSumGroup,
          n_rows};
}

kernels::Activations part_of(const kernels::Activations& a, int64_t begin, int64_t end) noexcept {
  kernels::Activations part = a;
  part.x += begin * a.x_stride;
  part.q += begin * a.q_stride;
  part.scale += begin * a.scale_stride;
  part.sum += begin * a.sum_stride;
  part.n_tokens = end - begin;
  return part;
}

}  // namespace lockstep::model
