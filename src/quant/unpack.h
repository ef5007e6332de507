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

// Calls visit(FormTag<type>{}) for a type that has a form; false, and no call, for others.
template <typename Visit>
[[gnu::always_inline]] inline bool visit_form(TensorType type, const Visit& visit) {
  switch (type) {
    case TensorType::kQ4_0:
      visit(FormTag<TensorType::kQ4_0>{});
      return true;
    case TensorType::kQ4_1:
      visit(FormTag<TensorType::kQ4_1>{});
      return true;
    case TensorType::kQ5_0:
      visit(FormTag<TensorType::kQ5_0>{});
      return true;
    case TensorType::kQ5_1:
      visit(FormTag<TensorType::kQ5_1>{});
      return true;
    case TensorType::kQ8_0:
      visit(FormTag<TensorType::kQ8_0>{});
      return true;
    case TensorType::kQ2_K:
      visit(FormTag<TensorType::kQ2_K>{});
      return true;
    case TensorType::kQ3_K:
      visit(FormTag<TensorType::kQ3_K>{});
      return true;
    case TensorType::kQ4_K:
      visit(FormTag<TensorType::kQ4_K>{});
      return true;
    case TensorType::kQ5_K:
      visit(FormTag<TensorType::kQ5_K>{});
      return true;
    case TensorType::kQ6_K:
      visit(FormTag<TensorType::kQ6_K>{});
      return true;
    case TensorType::kIQ4_NL:
      visit(FormTag<TensorType::kIQ4_NL>{});
      return true;
    case TensorType::kIQ4_XS:
      visit(FormTag<TensorType::kIQ4_XS>{});
      return true;
    case TensorType::kIQ3_S:
      visit(FormTag<TensorType::kIQ3_S>{});
      return true;
    case TensorType::kTQ1_0:
      visit(FormTag<TensorType::kTQ1_0>{});
      return true;
    case TensorType::kTQ2_0:
      visit(FormTag<TensorType::kTQ2_0>{});
      return true;
    case TensorType::kMXFP4:
      visit(FormTag<TensorType::kMXFP4>{});
      return true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace lockstep::quant
