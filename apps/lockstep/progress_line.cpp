#include "progress_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "terminal.h"

namespace lockstep {
namespace {

constexpr std::chrono::seconds kQuietTime(1);
constexpr std::chrono::milliseconds kBetweenUpdates(100);

}  // namespace

ProgressLine::ProgressLine(std::string what, std::string unit, double scale)
    : what_(std::move(what)), unit_(std::move(unit)), scale_(scale), enabled_(is_terminal(stderr)) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::update(uint64_t done, uint64_t total) {
  if (!is_due()) return;
  print(fmt::format("{} {:.0f} of {:.0f} {}", what_, static_cast<double>(done) / scale_,
                    static_cast<double>(total) / scale_, unit_));
}

void ProgressLine::show(const std::string& text) {
  if (is_due()) print(text);
}

bool ProgressLine::is_due() const {
  const Clock::time_point now = Clock::now();
  return enabled_ && now - start_ >= kQuietTime && now - last_ >= kBetweenUpdates;
}

void ProgressLine::print(const std::string& text) {
  last_ = Clock::now();
  visible_ = true;
  const std::string line = "\r\x1b[K" + text;
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  start_ = Clock::now();
  if (!visible_) return;
  visible_ = false;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace lockstep
