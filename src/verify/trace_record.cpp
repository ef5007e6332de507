#include "verify/trace_record.h"

#include <algorithm>
#include <span>

namespace lockstep::verify {
namespace {

// As doubles, digit for digit: a reader gets back the same bits.
std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

TraceRecord summarize(const model::TensorView& tensor) {
  const int64_t n = tensor.n_elements();
  TraceRecord record = {tensor.name, std::string(tensor.op), tensor.ne, 0, 0, tensor.at(0), tensor.at(0), {}, {}};
  for (int64_t row = 0; row < n / tensor.width; ++row) {
    for (const float value : std::span(tensor.data + row * tensor.row_stride, static_cast<size_t>(tensor.width))) {
      record.sum += static_cast<double>(value);
      record.sumsq += static_cast<double>(value) * static_cast<double>(value);
      record.min = std::min(record.min, value);
      record.max = std::max(record.max, value);
    }
  }
  const int64_t listed = std::min(n, kListed);
  for (int64_t i = 0; i < listed; ++i) {
    record.first.push_back(tensor.at(i));
    record.last.push_back(tensor.at(n - listed + i));
  }
  return record;
}

nlohmann::ordered_json to_json(const TraceRecord& record) {
  return {{"name", record.name},
          {"op", record.op},
          {"type", "f32"},
          {"ne", record.ne},
          {"sum", record.sum},
          {"sumsq", record.sumsq},
          {"min", static_cast<double>(record.min)},
          {"max", static_cast<double>(record.max)},
          {"first", widened(record.first)},
          {"last", widened(record.last)}};
}

}  // namespace lockstep::verify
