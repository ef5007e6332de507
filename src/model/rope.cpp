#include "model/rope.h"

#include <algorithm>

#include "base/exp64.h"
#include "base/sin_cos.h"

namespace lockstep::model {

namespace {

// How much of pair i's angle is that of the unscaled position.
float unscaled_part(const RopeConfig& config, int64_t i) noexcept {
  const float width = std::max(0.001f, config.ramp_end - config.ramp_begin);
  return 1.0f - std::clamp((static_cast<float>(i) - config.ramp_begin) / width, 0.0f, 1.0f);
}

}  // namespace

RopeTable::RopeTable(const RopeConfig& config, std::span<const float> factors)
    : theta_scale_(static_cast<float>(pow64(double{config.freq_base}, -2.0 / static_cast<double>(config.n_rot)))),
      config_(config),
      factors_(factors.begin(), factors.end()) {}

void RopeTable::fill(int64_t position, float* cos_sin) const noexcept {
  float theta = static_cast<float>(position);
  for (int64_t i = 0; i < config_.n_rot / 2; ++i) {
    const float extrapolated = factors_.empty() ? theta : theta / factors_[static_cast<size_t>(i)];
    float angle = config_.freq_scale * extrapolated;
    if (config_.has_ramp) {
      const float mix = unscaled_part(config_, i);
      angle = angle * (1.0f - mix) + extrapolated * mix;
    }
    const auto [sin, cos] = sin_cos(double{angle});
    cos_sin[2 * i] = static_cast<float>(cos) * config_.magnitude;
    cos_sin[2 * i + 1] = static_cast<float>(sin) * config_.magnitude;
    theta *= theta_scale_;
  }
}

}  // namespace lockstep::model
