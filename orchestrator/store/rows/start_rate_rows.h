// Start rate rows: how many instances of a workflow have started for each key of its `rateLimit`,
// and for each key of its `throttle`; and how many calls of a service have been handed out for each
// key of their `throttle`.
// Table `meta`: a row `start-rate/` for each key of a workflow or a service, under the fingerprint
// of the key; a row `start-rate-end/` for each of them in the order of the times at which they may
// be erased; and a row `start-rates/` with their number for each namespace. Functions that read
// take any View, functions that write the Transaction. A damaged row gives an error that names it
// (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/start_rate.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such rows.
inline constexpr uint64_t kMinorOfStartRates = 10;

inline constexpr std::string_view kStartRateKey = "start-rate/";
inline constexpr std::string_view kStartRateEndKey = "start-rate-end/";
inline constexpr std::string_view kStartRatesKey = "start-rates/";

/// A key of the `rateLimit` of a workflow, or of its `throttle`; or of the `throttle` of calls.
struct StartRatePlace {
  WorkflowNumber workflow{};  ///< 0: of calls
  Fingerprint key{};  ///< the keyed fingerprint of the JSON text of the key; of calls see below

  auto operator<=>(const StartRatePlace&) const = default;
};
/// The place of a key of a `throttle`, from the fingerprint of its text (SlotKey::key). It is not
/// the place of an equal key of a `rateLimit`.
StartRatePlace throttle_rate_place(std::string_view id_key, WorkflowNumber workflow,
                                   const Fingerprint& key);
/// The place of a key of the `throttle` of calls of a namespace, from the fingerprint of the
/// service and the text of the key (CallSlotKey::key).
StartRatePlace call_rate_place(std::string_view id_key, NamespaceNumber ns, const Fingerprint& key);

struct StartRateRecord {
  NamespaceNumber ns{};  ///< of the workflow or the calls, which may have been deleted since
  TimePoint ends;        ///< from which time on no start of `use` counts
  TimePoint listed;      ///< the time in the key of its row `start-rate-end/`, not after `ends`
  StartUse use;

  bool operator==(const StartRateRecord&) const = default;
};
std::string encode(const StartRateRecord& record);
/// Decoding fails with `store.corrupt`.
Result<StartRateRecord> decode_start_rate(std::string_view bytes);

Result<std::optional<StartRateRecord>> read_start_rate(const View& view,
                                                       const StartRatePlace& place);
/// Writes the row. If `is_new`, also writes its row `start-rate-end/`,
/// with `record.listed` in its key, and counts it for its namespace. Errors: those of the store.
Status write_start_rate(Transaction& tx, const StartRatePlace& place, const StartRateRecord& record,
                        bool is_new);

/// How many rows `start-rate/` the namespace has; a damaged row counts as 0.
Result<uint64_t> start_rates_of(const View& view, NamespaceNumber ns);

/// Looks at the rows whose `listed` is up to `now`, at most `most` of them: erases those that have
/// ended, and lists the others at the times at which they end. Returns the first time at which
/// something is left to do; nullopt: no row is listed. Errors: those of the store.
Result<std::optional<TimePoint>> sweep_start_rates(Transaction& tx, TimePoint now, size_t most);

/// How many rows of the namespace sweep_start_rates() would erase at `now`, if it looked at that
/// many. Errors: those of the store.
Result<uint64_t> ended_start_rates_of(const View& view, NamespaceNumber ns, TimePoint now,
                                      size_t most);

// For the store check.

/// The place in the key of a row `start-rate/`; nullopt: its key has another form.
std::optional<StartRatePlace> start_rate_place(std::string_view key);
/// The time and the place in the key of a row `start-rate-end/`; nullopt: its key has another form.
struct StartRateEnd {
  TimePoint listed;
  StartRatePlace place;
};
std::optional<StartRateEnd> start_rate_end(std::string_view key);
/// The key of a row `start-rate-end/`.
std::string start_rate_end_key(const StartRateEnd& end);
/// The namespace in the key of a row `start-rates/`; nullopt: its key has another form.
std::optional<NamespaceNumber> namespace_of_start_rates(std::string_view key);
Result<uint64_t> decode_start_rates(std::string_view bytes);

}  // namespace millrace
