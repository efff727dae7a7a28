// EventRates: whether the quota eventsPerSecond of a namespace permits an event. Only events that a
// start or an instance may need count. The time of an event is its timestamp in the stream, not the
// time at which it is applied, so that events which waited in the stream are not refused for that.
// The use of the rate is stored together with the cursor, so a restart decides equally. Engine
// thread only.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "base/batch_notes.h"
#include "base/result.h"
#include "base/time.h"
#include "model/rate.h"
#include "orchestrator/batch/batch_state.h"

namespace millrace {

class EventRates {
 public:
  explicit EventRates(BatchState& batch) : batch_(batch), before_(batch.batches) {}

  /// Counts an event that the stream stamped at that time; `per_second` is the quota. Error
  /// `millrace.quota.eventsPerSecond` as the value: the quota does not permit the event, which is
  /// counted as a refusal. Errors of the result: those of the store.
  Result<std::optional<Error>> take(NamespaceNumber ns, uint64_t per_second, TimePoint stamped);

  /// Writes what has changed since the last call. To be called when the cursor is written.
  void write();

  /// Undoes the changes of a batch that was lost.
  void undo();
  void clear();

 private:
  struct Before {
    std::map<NamespaceNumber, std::optional<RateUse>> uses;  ///< nullopt: not in memory
    std::optional<std::set<NamespaceNumber>> unwritten;
  };

  Result<RateUse> use_of(NamespaceNumber ns);
  void note(NamespaceNumber ns);

  BatchState& batch_;
  std::map<NamespaceNumber, RateUse> uses_;  ///< of namespaces that have the quota
  std::set<NamespaceNumber> unwritten_;
  BatchNotes<Before> before_;
};

}  // namespace millrace
