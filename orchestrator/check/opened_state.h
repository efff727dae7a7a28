// OpenedState: what a state requires of an instance that enters it. The store check enters the
// state again on a copy of the instance, and compares the instance with the copy. Only for
// orchestrator/check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/lazy_json.h"
#include "base/time.h"
#include "model/effect.h"
#include "model/instance.h"
#include "states/state.h"

namespace millrace {

struct OpenedState {
  TimePoint at;  ///< when the copy entered the state
  std::vector<Listener> listeners;
  size_t slots = 0;
  std::optional<TimePoint> delay;
  std::vector<Call> calls;             ///< all calls; those that start at once have deadlines
  std::map<uint32_t, Effect> started;  ///< the effects of the calls that start at once
  /// Whether all expressions were evaluated. If not, texts that a jq worker would evaluate are
  /// unknown.
  bool is_exact = true;
};

/// Enters a state at the time `at`. `newest` is the newest compensation of the instance; null: it
/// has none, or its row cannot be read. nullopt: with this data, or with the placeholders for a jq
/// worker's results, the state would not wait.
std::optional<OpenedState> open_state(const State& state, const Instance& head,
                                      const LazyJson& data, const LazyJson& input, TimePoint at,
                                      const Compensation* newest = nullptr);

/// The effect that starts the call, or another call with the same action; null: no such call starts
/// at once.
const Effect* started_like(const OpenedState& opened, const State& state, uint32_t index);

/// By how much a span that begins at another time may end on the wrong side of the span that begins
/// at `begin`. A month that begins late on 28 January ends after a month that begins early on 31
/// January, because both end on 28 February. This needs two days of one month, of which the earlier
/// one is the 28th or later.
Duration slack_from(TimePoint begin);

/// As slack_from(), for a span that begins between two times.
Duration slack_between(TimePoint from, TimePoint to);

/// Deadlines by TimeoutKind, as in Call.
using Deadlines = std::array<std::optional<TimePoint>, kTimeoutKinds>;

/// The times after which the deadlines of a call cannot be; nullopt: not known. `now` is the state
/// as of the store's time, `recorded` as of the latest record after which a timeout of a call
/// begins.
Deadlines latest_deadlines(const Call& call, uint32_t index, const State& state,
                           const OpenedState& now, const OpenedState& recorded);

}  // namespace millrace
