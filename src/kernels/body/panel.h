// A panel: some groups of 16 rows of a weight matrix, unpacked once into the one form and then multiplied with many
// tokens.
//
// Per block of kGroup elements of k: kGroup / 4 lines of weights (16 rows x 4 elements; line j of all row groups side
// by side), then for each row group a line of fp32 scales and, if the type has minima, a line of minima.
#pragma once

#include "kernels/body/unit_format.h"
#include "kernels/table.h"
#include "quant/unpack.h"

namespace lockstep::kernels {
namespace {

// The largest q + z of a type (NUMERICS.md section 1): it decides how many products may be added in 16 bits on CPUs
// without a byte dot product.
constexpr int largest_weight(TensorType type) {
  using enum TensorType;
  switch (type) {
    case kTQ1_0:
      return 2;
    case kQ2_K:
    case kTQ2_0:
      return 3;
    case kQ3_K:
      return 7;
    case kQ4_0:
    case kQ4_1:
    case kQ4_K:
      return 15;
    case kMXFP4:
      return 24;
    case kIQ3_S:
      return 30;
    case kQ5_0:
    case kQ5_1:
    case kQ5_K:
      return 31;
    case kQ6_K:
      return 63;
    default:
      return 255;
  }
}

constexpr int weight_bits(TensorType type) {
  const int largest = largest_weight(type);
  return largest < 16 ? 4 : largest < 32 ? 5 : largest < 64 ? 6 : 8;
}

// What the panel product needs to know of a type.
template <TensorType type>
struct PanelForm {
  using Form = quant::Form<type>;
  static constexpr int kBlock = Form::kBlock;
  static constexpr int kGroup = Form::kGroup;
  static constexpr bool kHasMin = Form::kHasMin;
  static constexpr int kBits = weight_bits(type);
  static constexpr int kZero = kBits == 8 && kSignedEight ? 0 : Form::kZero;
  static constexpr int kQuads = kGroup / 4;
  static constexpr int kLines = kQuads + 1 + (kHasMin ? 1 : 0);  // per block and row group
  static constexpr int kGroups = Form::kGroups;
};

template <TensorType type>
inline constexpr bool kStreams = packed_unit_bytes(type) != 0;

template <typename F, typename P, int n_groups, int stage, int bundle>
LOCKSTEP_INLINE void unpack_bundle(const std::byte* unit, std::byte* panel, int group) {
  Bytes w[F::kOuts];
  F::template load<stage, bundle>(unit, w);
  for (int o = 0; o < F::kOuts; ++o) {
    const int line = (stage * F::kSubs + F::sub(bundle, o)) * P::kLines + F::quad(bundle, o);
    store_bytes(panel + (line * n_groups + group) * 64, w[o]);
  }
}

template <typename F, typename P, int n_groups, int stage, int bundle = 0>
LOCKSTEP_INLINE void unpack_stage(const std::byte* unit, std::byte* panel, int group) {
  unpack_bundle<F, P, n_groups, stage, bundle>(unit, panel, group);
  if constexpr (bundle + 1 < F::kBundles) {
    unpack_stage<F, P, n_groups, stage, bundle + 1>(unit, panel, group);
  } else if constexpr (stage + 1 < F::kStages) {
    unpack_stage<F, P, n_groups, stage + 1>(unit, panel, group);
  }
}

// A line of 16 floats after the quads of sub-block s.
template <typename P, int n_groups>
LOCKSTEP_INLINE float* scale_line(std::byte* panel, int s, int which, int group) {
  return reinterpret_cast<float*>(panel + ((s * P::kLines + P::kQuads + which) * n_groups + group) * 64);
}

inline constexpr int kPanelAhead = 4096;

// Block b of a group of 16 packed rows into the panel of a block, as row group `group` of n_groups.
template <TensorType type, int n_groups>
requires kStreams<type>
void unpack_block(const std::byte* rows, int64_t b, uint64_t /*row_bytes*/, std::byte* panel, int group) {
  using F = Format<type>;
  using P = PanelForm<type>;
  const std::byte* unit = rows + b * F::kUnitBytes;
  for (int i = 0; i < F::kUnitBytes; i += 64) prefetch(unit + kPanelAhead + i);
  unpack_stage<F, P, n_groups, 0>(unit, panel, group);
  alignas(64) float buffer[2 * 16 * kRowsPerGroup];
  F::prepare(unit, buffer);
  for (int s = 0; s < P::kGroups; ++s) {
    store(scale_line<P, n_groups>(panel, s, 0, group), F::ws(unit, buffer, s));
    if constexpr (P::kHasMin) store(scale_line<P, n_groups>(panel, s, 1, group), F::wm(unit, buffer, s));
  }
}

// The same from rows in their file format, for types without a transposed unit.
template <TensorType type, int n_groups>
requires(!kStreams<type>) void unpack_block(const std::byte* rows, int64_t b, uint64_t row_bytes, std::byte* panel,
                                            int group) {
  using P = PanelForm<type>;
  for (int r = 0; r < kRowsPerGroup; ++r) {
    const auto* blocks = reinterpret_cast<const typename P::Form::Block*>(rows + static_cast<uint64_t>(r) * row_bytes);
    quant::Unpacked block;
    quant::unpack<type>(blocks[b], block);
    for (int i = 0; i < P::kBlock; ++i) block.q[i] = static_cast<int8_t>(block.q[i] + P::kZero);
    for (int s = 0; s < P::kGroups; ++s) {
      for (int j = 0; j < P::kQuads; ++j) {
        __builtin_memcpy(panel + ((s * P::kLines + j) * n_groups + group) * 64 + r * 4, block.q + s * P::kGroup + 4 * j,
                         4);
      }
      scale_line<P, n_groups>(panel, s, 0, group)[r] = block.ws[s];
      if constexpr (P::kHasMin) scale_line<P, n_groups>(panel, s, 1, group)[r] = block.wm[s];
    }
  }
}

// The rows of the next panel, fetched into the second-level cache while this one is multiplied: unpacking them would
// wait for memory otherwise.
class RowsAhead {
 public:
  // n_rows rows from `row` on, as far as the job goes, in n_steps steps. REQUIRES: n_steps > 0.
  RowsAhead(const LinearJob& job, int64_t row, int64_t n_rows, int64_t n_steps) {
    const int64_t end = row + n_rows < job.row_end ? row + n_rows : job.row_end;
    if (row >= end) return;
    at_ = job.w.data + static_cast<uint64_t>(row) * job.w.row_bytes;
    left_ = (end - row) * static_cast<int64_t>(job.w.row_bytes);
    step_ = (left_ / n_steps / 64 + 1) * 64;
  }

  LOCKSTEP_INLINE void fetch_some() {
    if (left_ <= 0) return;
    for (int64_t i = 0; i < step_; i += 64) prefetch_far(at_ + i);
    at_ += step_;
    left_ -= step_;
  }

 private:
  const std::byte* at_ = nullptr;
  int64_t left_ = 0;
  int64_t step_ = 0;
};

}  // namespace
}  // namespace lockstep::kernels
