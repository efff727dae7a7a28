// EventAdmission: whether the quota eventsPerSecond of a namespace permits events that come over
// HTTP or from a source, so that a sender that is too fast gets an error, and a source waits,
// before the events are in the stream. The engine decides about all events of the stream
// (batch/event_rates.h). Over HTTP, the quota has a default (kDefaultHttpEvents). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "model/quota.h"
#include "model/rate.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

/// The code of the error of EventAdmission::take().
inline constexpr std::string_view kOverRate = "millrace.quota.eventsPerSecond";

/// What counts in a namespace without the quota: the default of HTTP, or no limit, as for the
/// events of a source, which has a rate of its own.
enum class WithoutQuota : uint8_t { kHttpDefault, kNoLimit };

class EventAdmission {
 public:
  /// `clock` must outlive this object.
  explicit EventAdmission(const Clock& clock) : clock_(clock) {}

  /// Counts `count` events of the namespace. Error `millrace.quota.eventsPerSecond`: the quota does
  /// not permit that many now, and none is counted.
  Status take(const NamespaceRecord& ns, size_t count,
              WithoutQuota without = WithoutQuota::kHttpDefault);

 private:
  struct Known {
    std::string settings;  ///< the text from which `limit` was read
    uint64_t limit = kDefaultHttpEvents;
    RateUse use;
  };

  const Clock& clock_;
  std::mutex mutex_;  // guards the member below
  std::map<NamespaceNumber, Known> known_;
};

}  // namespace millrace
