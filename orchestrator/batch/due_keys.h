// DueKeys: keys that are to be looked at again, each at a time, in the order of these times: those
// of throttles, and when the throttle permits the next start or call. Plain values; no clock.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"

namespace millrace {

template <class Key>
class DueKeys {
 public:
  /// Notes the key for the time `at`, in place of its earlier time.
  void put(const Key& key, TimePoint at) {
    const auto [known, is_new] = due_.try_emplace(key, at);
    if (!is_new) by_time_.erase({known->second, key});
    known->second = at;
    by_time_.emplace(at, key);
  }

  /// Removes the keys whose time has come, at most `most` of them, the earliest first.
  std::vector<Key> take(TimePoint now, size_t most) {
    std::vector<Key> keys;
    while (keys.size() < most && !by_time_.empty() && by_time_.begin()->first <= now) {
      keys.push_back(by_time_.begin()->second);
      due_.erase(keys.back());
      by_time_.erase(by_time_.begin());
    }
    return keys;
  }

  /// The first time; nullopt: there is no key.
  std::optional<TimePoint> first() const {
    if (by_time_.empty()) return std::nullopt;
    return by_time_.begin()->first;
  }

  void clear() {
    due_.clear();
    by_time_.clear();
  }

 private:
  std::map<Key, TimePoint> due_;
  std::set<std::pair<TimePoint, Key>> by_time_;  ///< those of `due_`
};

}  // namespace millrace
