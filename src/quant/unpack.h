// The one form of every quantized type (NUMERICS.md section 1): along k a row is blocks of B small integers q with one fp32
// scale ws and, for some types, one fp32 minimum wm; the weight is ws * q + wm. unpack() turns one block of a file format into
// that form; dequantization and the scalar products are written once on top of it.
//
// INTERFACE SKETCH, to be completed: everything here has internal linkage (anonymous namespace), uses only plain data and no standard library template: the header is
// compiled into units for several instruction sets, and the linker must never share a copy between them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/blocks.h"

namespace lockstep::quant {
namespace {

// One block of a file format, unpacked. n = FormTraits<T>::kBlock elements are filled.
struct Unpacked {
  int8_t q[256];
  float ws[16];  // one per B elements
  float wm[16];  // likewise; only filled where the type has minima
};

// template <TensorType T> struct Form { static constexpr int kBlock (elements a block struct), kGroup (B: 16 or 32), kZero (z); static constexpr bool kHasMin; using Block = ...; }
// template <TensorType T> [[gnu::always_inline]] inline void unpack(const typename Form<T>::Block& block, Unpacked& out);

}  // namespace
}  // namespace lockstep::quant
