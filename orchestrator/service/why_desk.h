// WhyDesk: what the gateway may request about why an event had, or did not have, an effect. Any
// thread. A call may wait for the broker for some seconds, and for the engine thread for
// kIndexPatience.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// Which stored events are judged for an instance.
struct WhyWindow {
  uint64_t before = 0;                            ///< only events with lower sequences; 0: all
  std::optional<TimePoint> since = std::nullopt;  ///< stored then or later
  std::optional<TimePoint> until = std::nullopt;  ///< stored before
};

/// Which listeners an answer is about.
struct WhyFilter {
  /// The instance that the caller expected to be woken: the answer shows no other listener, but
  /// counts them. nullopt: it shows the nearest ones.
  std::optional<InstanceId> instance;
  std::string attribute;     ///< also listeners that ask for this attribute …
  std::string value;         ///< … to have this value; without an attribute: not used
  size_t limit = 20;         ///< how many listeners are shown
  bool shows_others = true;  ///< the caller may see the names of other namespaces
  WhyWindow window = {};     ///< of of_instance() without a sequence
};

/// How long a call waits for the engine thread, which may be applying a batch.
inline constexpr std::chrono::milliseconds kIndexPatience{500};

class WhyDesk {
 public:
  virtual ~WhyDesk() = default;

  /// Why an event of the stream woke or started what it did, and nothing else:
  /// {"event":{"sequence","time","id","type","source"}, "effects":[{"what","instance"|"workflow"}],
  /// "effectCount", "applied", "asOf":{"commit","cursor"}, "looked", "of"?, "complete",
  /// "near":[{"kind":"start"|"instance","workflow","instance"?,"state"?,"since"?,"verdict","says",
  /// "predicates":[{"attribute","kind":"equals"|"pattern","asks","got","holds","hint"?,"says"?,
  /// "fits"?}],
  /// "lookbackFrom"?,"early"?:{"seconds","startedAfterEvent"?},"ended"?,"stateNow"?,"waitsFor"?,
  /// "correlate"?,
  /// "nearGroups"?:[{"correlate","has","hint"?,"sequence"?}],"moreGroups"?:{"count","complete"},
  /// "partners"?:[{"sequence","type","namespace"?,"differs":"namespace"|"type"|"data","fits"}]}],
  /// "others":[{"what","count"}], "instance"?, "similarTypes"?, "elsewhere"?}, the nearest
  /// listeners first. `instance` is WhyFilter::instance; then `near` has its verdict only. Without
  /// an effect, `near` also has instances whose wait is over, and which the event fits. An event
  /// that became a dead letter may have "deadLetter":{"id","reason","detail"}. `looked` listeners
  /// of about `of` were judged; `of` is missing if the engine thread did not answer in time.
  /// `complete` is false if a bound has cut the look. A message that is not an event has
  /// "error":{"code","msg"} and no listeners. Errors: `namespace.not_found`, `event.not_found`,
  /// `instance.not_found` of WhyFilter::instance, and those of StoredEvents.
  virtual Result<Json> of_event(std::string_view ns, uint64_t sequence,
                                const WhyFilter& filter) = 0;

  /// What an event would do, in the form of of_event(), without `sequence`, `time` and `effects`.
  /// Of a start that it would cause, `near` has in "start" what the limits would do with it now
  /// (PredictedStart). Nothing is sent or stored. An event whose source and id are known is a
  /// duplicate, if the engine thread answers in time: it has "duplicate":true, and would be dropped
  /// whatever listens.
  virtual Result<Json> of_test_event(std::string_view ns, Event event, const WhyFilter& filter) = 0;

  /// Why an instance was not woken: by the event with that sequence, or by the newest events in
  /// WhyFilter::window of the types that it waits for.
  /// {"instance":{"id","workflow","status","state","since",
  /// "waits":[{"type","context","lookbackFrom"?}, or an item of work_waits.h, of a call with what
  /// CallWaits adds],"moreWaits"?,"entering"?:[{"type","lookbackFrom"?}],
  /// "arrived"?:[type]}, "asOf":{"commit","cursor"}, "looked", "of"?, "complete",
  /// "events":[{"sequence","time","id","type","source","verdict","says","predicates",
  /// "lookbackFrom"?,"applied","effects","effectCount"}], "lookedFrom"?, "next"?, "elsewhere"?,
  /// "elsewhereEvents"?:[{"namespace","sequence"}],
  /// "unknownNamespaces"?:[{"namespace","sequence","fits","deadLetter"?}],
  /// "elsewhereLook"?:{"from"?,"namespaces"?,"unknown"?}}, the nearest events first. `looked` is
  /// the number of messages that were read, `of` that of the events of those types among them,
  /// `lookedFrom` when the oldest of them was stored. `next` becomes WhyWindow::before of the call
  /// that continues with older messages; null: the window has none. `elsewhereLook` says that a
  /// bound has cut the look into other namespaces: since when their events were looked at, and, if
  /// not all namespaces were, which ones. `elsewhere` names namespaces that have an event of such a
  /// type, if this one has none, or an event that fits, if none of this one does; `elsewhereEvents`
  /// has events of these that fit. `unknownNamespaces` has in the same way names that no namespace
  /// has, each with an event that came for it, whether that one fits, and the id of the dead letter
  /// that it became; the names are those of dead letters with the reason `namespace.not_found`.
  /// Errors: as of_event(), and `instance.not_found`.
  virtual Result<Json> of_instance(std::string_view ns, const InstanceId& id,
                                   const std::optional<uint64_t>& sequence,
                                   const WhyFilter& filter) = 0;
};

}  // namespace millrace
