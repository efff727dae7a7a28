// Past waits: when an instance has waited for events of a type, as its history records it. The
// history has the times of a wait, its positions among the events, and the data over which the
// state was entered, which decides what the instance asked for. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "matchers/event_filter.h"
#include "model/cursor.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

struct PastWait {
  std::string state;
  EventPosition from;  ///< the newest event that the instance cannot have waited for
  std::optional<TimePoint> window_from;  ///< with `lookback`: from when on it took earlier events
  TimePoint entered;                     ///< when the state was entered
  EventPosition until;             ///< the newest event that was applied when the wait had ended
  std::optional<TimePoint> ended;  ///< nullopt: the wait has not ended
  bool is_cut = false;             ///< the window could not be read: no early event was offered
  std::optional<LazyJson> data;    ///< at the entry of the state; nullopt: it is not recorded
  bool was_woken = false;          ///< events have ended it
  std::string ended_by;            ///< such as `the event "e-1" of "shop" woke it`, `it timed out`
};

/// The waits of the instance in states that may listen for the type, oldest first. Reads the newest
/// 100 rows of its history. `instance` must be complete, with its input.
Result<std::vector<PastWait>> past_waits(const View& view, const Instance& instance,
                                         const Workflow& workflow, std::string_view type);

/// What the instance asked for of events of the type in that wait; nullopt: that is not known,
/// because the history does not have the data of the wait, or only a jq worker can evaluate it.
std::optional<std::vector<EventFilter>> asked_in(const PastWait& wait, const Workflow& workflow,
                                                 std::string_view type);

/// Whether an event that has woken the instance has done so in the state of the instance: it came
/// after the instance entered the state, or the history has recorded the wake since, as for an
/// early event. false also if the newest 100 rows of the history do not have the entry of the
/// state.
Result<bool> has_woken_in_state(const View& view, const Instance& instance, const Event& event,
                                const EventPosition& at);

/// Whether the state may listen for events of the type.
bool awaits(const State& state, std::string_view type);

/// From when on the state, which was entered at that time, takes events of the type that came
/// before it listens; nullopt: it takes none of them.
std::optional<TimePoint> window_begin(const State& state, std::string_view type, TimePoint entered);

}  // namespace millrace
