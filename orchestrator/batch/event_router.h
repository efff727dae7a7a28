// route_event: from an event to its targets, the starts that it matches and the instances that wait
// for it, or why it has none. Reads the caches of the engine and changes nothing. Engine thread
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/event.h"
#include "base/ids.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// What the router looks at.
struct RouteViews {
  const Catalog& catalog;
  const Waiting& waiting;
  const Recent& recent;
  const Dedupe& dedupe;
};

/// Where an event goes.
struct EventRoute {
  enum class Kind : uint8_t {
    kNoNamespace,  ///< to the dead letters: there is no namespace of that name
    kUnmatched,    ///< nowhere: nothing matches it, and nothing that is on its way may want it
    kDuplicate,    ///< nowhere: it had its effect, or is kept for one
    kTargets,      ///< to `targets`, or among the kept events, or both
  };
  Kind kind = Kind::kUnmatched;
  bool matched = false;  ///< there are targets, whether they are to get it or not
  NamespaceNumber space{};
  Event event;             ///< of kTargets
  Fingerprint known_as;    ///< likewise
  bool is_wanted = false;  ///< it is to be kept: an instance on its way to a wait may want it
  bool fans_out = false;   ///< more instances wait for it than one batch may wake
  Targets targets;
};

/// `most_woken`: how many instances one batch may wake with one event.
EventRoute route_event(const RouteViews& views, const EventInput& input, size_t most_woken);

}  // namespace millrace
