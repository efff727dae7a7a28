// route_event: finds the targets of an event, which are the starts that it matches and the
// instances that wait for it, or the reason why the event has no target. Reads the engine's caches
// and changes nothing. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/event.h"
#include "base/ids.h"
#include "model/quota.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// The caches that the router reads.
struct RouteViews {
  const Catalog& catalog;
  const WaitIndex& waiting;
  const KeptEvents& kept_events;
  const Dedupe& dedupe;
};

/// Where an event is routed.
struct EventRoute {
  enum class Kind : uint8_t {
    kNoNamespace,  ///< to the dead-letter queue: the namespace does not exist
    kUnmatched,    ///< nowhere: no listener matches, and no instance may come to wait
    kDuplicate,    ///< nowhere: the event already had an effect, or is a kept event
    kTargets,      ///< to `targets`, to the kept events, or to both
  };
  Kind kind = Kind::kUnmatched;
  /// Some listener matches the event, or is undecided; the event may still be a duplicate.
  bool matched = false;
  NamespaceNumber ns{};
  Event event;             ///< set for kTargets only
  Fingerprint known_as;    ///< for deduplication; set for kTargets only
  bool is_wanted = false;  ///< to be stored: an instance may come to wait for the event
  bool fans_out = false;   ///< more instances wait for the event than one batch may wake
  /// Some target is undecided, or may have to wait because an earlier event is undecided for it.
  bool may_be_late = false;
  Targets targets;
  uint64_t per_second = kUnlimited;  ///< the quota eventsPerSecond of the namespace
};

/// `most_woken`: how many instances one batch may wake with one event. `budget`: for the matches of
/// the event.
EventRoute route_event(const RouteViews& views, const EventInput& input, size_t most_woken,
                       const MatchBudget& budget);

}  // namespace millrace
