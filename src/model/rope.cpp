#include "model/rope.h"

#include "base/exp64.h"
#include "base/sin_cos.h"

namespace lockstep::model {

RopeTable::RopeTable(const RopeConfig& config, std::span<const float> factors)
    : n_rot_(config.n_rot),
      theta_scale_(static_cast<float>(pow64(double{config.freq_base}, -2.0 / static_cast<double>(config.n_rot)))),
      freq_scale_(config.freq_scale),
      factors_(factors.begin(), factors.end()) {}

void RopeTable::fill(int64_t position, float* cos_sin) const noexcept {
  float theta = static_cast<float>(position);
  for (int64_t i = 0; i < n_rot_ / 2; ++i) {
    const float extrapolated = factors_.empty() ? theta : theta / factors_[static_cast<size_t>(i)];
    const float angle = freq_scale_ * extrapolated;
    const auto [sin, cos] = sin_cos(double{angle});
    cos_sin[2 * i] = static_cast<float>(cos);
    cos_sin[2 * i + 1] = static_cast<float>(sin);
    theta *= theta_scale_;
  }
}

}  // namespace lockstep::model
