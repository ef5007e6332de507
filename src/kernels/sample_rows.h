// Rows of weights made up for self-tests and measurements: every bit pattern of the integers, scales of the size that
// models have. Pure functions: the same seed gives the same bytes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/tensor_type.h"

namespace lockstep::kernels {

// Fills `rows` (whole blocks of a supported type, in the file's form).
void fill_sample_rows(quant::TensorType type, uint64_t seed, std::span<std::byte> rows);

// Activations between -1 and 1, no two groups of 32 alike.
void fill_sample_activations(uint64_t seed, std::span<float> x);

}  // namespace lockstep::kernels
