// The setting `quotas` of a namespace. Pure.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/quota.h"

namespace millrace {

/// Parses the setting `quotas`: `{"instances": n, "storeBytes": n or text such as "10GiB",
/// "historyBytes": likewise, "eventsPerSecond": n, "calls": n, "workflows": n,
/// "startKeys": n}`. Each limit may also be "unlimited"; a missing one has its default
/// (kDefaultQuotas, kDefaultHttpEvents). Error `settings.invalid`.
Result<QuotaLimits> parse_quotas(const Json& value);

/// The least limit of historyBytes, so that each workflow can end in an orderly way, and the most
/// events in a second.
inline constexpr uint64_t kLeastHistoryQuota = uint64_t{1} << 20;
inline constexpr uint64_t kMostEventsPerSecond = 1'000'000;

}  // namespace millrace
