// The one form of every quantized type (NUMERICS.md section 1): along k a row is blocks of B small integers q with one
// fp32 scale ws and, for some types, one fp32 minimum wm; the weight is fl(ws * q + wm), and ws * q is exact. unpack()
// turns one block of a file format into that form; dequantization and the scalar products are written once on top of
// it.
//
// Everything here has internal linkage and uses plain data and no standard library template: the header is compiled
// into units for several instruction sets, and the linker must never share a copy between them. No state; safe from any
// thread.
#pragma once

#include "quant/unpack_form.h"
#include "quant/unpack_iq.h"
#include "quant/unpack_k.h"
#include "quant/unpack_legacy.h"
#include "quant/unpack_ternary.h"

namespace lockstep::quant {
namespace {

// `block` in the one form: Form<type>::kBlock integers, kGroups scales and, if kHasMin, minima. Any bytes are a valid
// block; a scale that is not finite comes out as it is.
template <TensorType type>
[[gnu::always_inline]] inline void unpack(const typename Form<type>::Block& block, Unpacked& out) {
  unpack_block(block, out);
}

// A tensor type as an argument: its static member `type` is a constant.
template <TensorType tensor_type>
struct FormTag {
  static constexpr TensorType type = tensor_type;
};

template <TensorType... types, typename Visit>
[[gnu::always_inline]] inline bool visit_one_of(TensorType type, const Visit& visit) {
  return ((type == types && (visit(FormTag<types>{}), true)) || ...);
}

// Calls visit(FormTag<type>{}) for a type that has a form; false, and no call, for others.
template <typename Visit>
[[gnu::always_inline]] inline bool visit_form(TensorType type, const Visit& visit) {
  using enum TensorType;
  return visit_one_of<kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kIQ4_NL, kIQ4_XS, kIQ3_S,
                      kTQ1_0, kTQ2_0, kMXFP4>(type, visit);
}

}  // namespace
}  // namespace lockstep::quant
