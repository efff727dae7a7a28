// Quotas: how much of something a namespace, or one of its instances, may have. The settings of the
// namespace set them (orchestrator/definition/quota_settings.h). Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// What a quota limits.
enum class Quota : uint8_t {
  kInstances = 0,        ///< live instances of the namespace
  kStoreBytes = 1,       ///< bytes of the rows of its instances, their histories included, and of
                         ///< its other rows that count (orchestrator/store/rows/counted_rows.h)
  kHistoryBytes = 2,     ///< bytes of the history of each instance
  kEventsPerSecond = 3,  ///< events that a start or an instance of the namespace may need
  kCalls = 4,            ///< calls of services and containers that have not ended
  kWorkflows = 5,
  kStartKeys = 6,     ///< keys of the `rateLimit` and the `throttle` of its workflows whose starts
                      ///< still count, and pending starts of their `debounce` and `batch`
  kQueuedStarts = 7,  ///< starts that wait for a slot of their workflow (`concurrency`), or for its
                      ///< `throttle`
};
inline constexpr size_t kQuotas = 8;

/// A limit that nothing reaches.
inline constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

/// The limits of a namespace without the setting `quotas`.
inline constexpr std::array<uint64_t, kQuotas> kDefaultQuotas = {
    2'000'000,            // instances
    uint64_t{256} << 30,  // storeBytes
    uint64_t{1} << 30,    // historyBytes
    kUnlimited,           // eventsPerSecond; over HTTP: kDefaultHttpEvents
    100'000,              // calls
    10'000,               // workflows
    100'000,              // startKeys
    100'000,              // queuedStarts
};

/// Events that a namespace without the setting `eventsPerSecond` may get over HTTP in a second:
/// more than the engine can start instances for, so that a sender notices at once that it is too
/// fast. Only HTTP has such a default: there a refused event stays with its sender. An event that
/// NATS has accepted would become a dead letter, although no operator has set a limit.
inline constexpr uint64_t kDefaultHttpEvents = 20'000;

/// The limits of a namespace.
struct QuotaLimits {
  std::array<uint64_t, kQuotas> limits = kDefaultQuotas;
  uint64_t http_events = kDefaultHttpEvents;  ///< over HTTP in a second

  uint64_t of(Quota quota) const { return limits[static_cast<size_t>(quota)]; }
  void set(Quota quota, uint64_t limit) {
    limits[static_cast<size_t>(quota)] = limit;
    if (quota == Quota::kEventsPerSecond) http_events = limit;
  }
};

/// The name of the quota in settings, error codes, metrics and answers: "instances", …
std::string_view to_string(Quota quota);

/// Whether the limit of the quota is a number of bytes.
inline bool is_of_bytes(Quota quota) {
  return quota == Quota::kStoreBytes || quota == Quota::kHistoryBytes;
}

/// A quota that is exceeded.
struct ExceededQuota {
  Quota quota{};
  uint64_t limit = 0;
};

/// The error code of the prefix `millrace.quota.` and the quota's name, with what exceeds the limit
/// and what to do.
Error over_quota(Quota quota, uint64_t limit);

}  // namespace millrace
