// RoleNet: a virtual clock, and a broker with the log of a cluster (tests/support/memory_log.h),
// for nodes that are played at random. Messages take time; the broker may have no leader. All
// choices are drawn from a seed. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/node_role.h"
#include "tests/model/random.h"
#include "tests/support/memory_log.h"

namespace millrace {

/// What happens at which time.
class RoleClock {
 public:
  using Time = NodeRole::Time;

  Time now() const { return now_; }
  void after(Duration time, std::function<void()> what) {
    events_.emplace(now_ + time, std::move(what));
  }
  /// Calls `check` after each event.
  void run_until(Time end, const std::function<void()>& check) {
    while (!events_.empty() && events_.begin()->first <= end) {
      now_ = events_.begin()->first;
      const std::function<void()> what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      what();
      check();
    }
    now_ = std::max(now_, end);
  }

 private:
  Time now_{};
  std::multimap<Time, std::function<void()>> events_;
};

struct RoleNet {
  /// What the log has beside each message of MemoryLog.
  struct Stored {
    RoleClock::Time at;
    LogHeard::What what;
    uint64_t unclean = 0;
  };

  explicit RoleNet(uint64_t seed) : random(seed) { latest_delay = random.of({5, 20, 150}); }

  reference::Random random;
  MemoryLog log;
  RoleClock clock;                               ///< its events refer to the log
  std::vector<Stored> stored;                    ///< by sequence, from 1
  std::vector<std::function<void()>> on_stored;  ///< of the nodes
  bool has_leader = true;
  bool speaks_without_leader = false;  ///< heartbeats come while there is no leader
  bool has_faults = true;
  int latest_delay = 20;      ///< of a message, in milliseconds
  uint32_t incarnations = 0;  ///< so many were started
  std::vector<std::string> violations;
  std::map<std::string, uint64_t> counts;

  Duration delay() { return Duration(1 + random.below(has_faults ? latest_delay : 20)); }
  bool fault(int percent) { return has_faults && random.chance(percent); }

  void note_stored(LogHeard::What what, uint64_t unclean = 0) {
    stored.push_back({clock.now(), what, unclean});
    for (const auto& call : on_stored) call();
  }
  void violate(const std::string& what) {
    violations.push_back(
        fmt::format("at {} ms: {}", clock.now().time_since_epoch() / Duration(1), what));
  }
  /// The incarnation that has the latest epoch; zeros: there is none.
  RandomName latest_epoch() const {
    return log.messages().empty() ? RandomName() : log.messages().back().position.name.incarnation;
  }
};

}  // namespace millrace
