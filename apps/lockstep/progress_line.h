// A line on a terminal's standard error that says how far something long has come. Nothing at all elsewhere, or within
// the first second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lockstep {

class ProgressLine {
 public:
  // `what` opens the line ("loading"), `unit` follows the numbers, which are divided by `scale`.
  ProgressLine(std::string what, std::string unit, double scale);
  ProgressLine() : ProgressLine("", "", 1) {}  // for show() alone
  ~ProgressLine();                             // wipes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(uint64_t done, uint64_t total);

  // The same with words of its own.
  void show(const std::string& text);

  // Wipes the line; the next update begins a new one.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_due() const;
  void print(const std::string& text);

  std::string what_;
  std::string unit_;
  double scale_;
  bool enabled_;
  bool visible_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = {};
};

}  // namespace lockstep
