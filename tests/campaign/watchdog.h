// For tests only: ends the process when a piece of work neither ends nor fails, and says which one it was; also when a
// signal ends it, so that a crash has a name.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace lockstep::campaign {

// An endless wait, on a machine that may be busy with other things.
inline constexpr std::chrono::seconds kMostWall{120};

class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds most = kMostWall);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  void start(const std::string& what);
  void stop();

 private:
  void watch();

  std::chrono::seconds most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::chrono::seconds> left_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace lockstep::campaign
