// JudgedListener: one listener, the verdict on it for one event, and the JSON form of both. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/time.h"
#include "model/cursor.h"
#include "model/instance.h"
#include "model/sealing.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/service/predicted_start.h"
#include "orchestrator/why/predicates.h"
#include "orchestrator/why/verdict.h"
#include "policies/duration.h"

namespace millrace {

/// How an event stands to the store.
struct EventStanding {
  /// nullopt: the event is a test event. An event of a stream that the store does not know has the
  /// number after that of the newest stream.
  std::optional<EventPosition> position;
  std::string ns;             ///< the namespace of the event
  TimePoint stamped;          ///< when the broker stored the event
  EventPosition applied;      ///< the newest applied event
  std::string held_up;        ///< why events are not applied; empty: they are
  bool is_duplicate = false;  ///< its source and id are known from another event
  bool is_dead = false;       ///< it became a dead letter
  Fingerprint known_as{};     ///< of its namespace, source and id
};

/// The attributes of `correlate` and their values, in the order of the start.
using CorrelationValues = std::vector<std::pair<std::string, std::string>>;

/// How one event, sent again with other values, completes one of two groups.
struct GroupMove {
  EventPosition event;     ///< the event to send again, of one of the two groups
  bool is_to_own = false;  ///< it gets the values of the group of the judged event
  bool operator==(const GroupMove&) const = default;
};

/// Another group of an eventsAnd start than that of the event.
struct NearGroup {
  CorrelationValues values;
  std::vector<std::string> has;    ///< of the types that the event waits for: those that it has
  EventPosition event;             ///< the first of its events of such a type
  std::optional<Hint::Kind> hint;  ///< how the only other value probably came to differ
  /// Of a group with a hint: the event that is in the wrong one of the two groups; nullopt: no
  /// single event completes either. From each of the two groups it is the same event.
  std::optional<GroupMove> move;
};

/// Which events complete the group of an event, or would have completed it.
struct AwaitedPartners {
  WorkflowNumber workflow{};
  std::vector<std::string> types;  ///< of the entries for which the group has or had no event
  CorrelationValues values;        ///< which the events of the group have in common
  Span lifespan;                   ///< of an event in a group
};

/// An event that would have completed the group of another one, and has left it.
struct LeftPartner {
  uint64_t sequence = 0;  ///< in the stream of the other event
  std::string type;
  TimePoint left;  ///< about when its lifespan ended
};

struct JudgedListener {
  bool is_start = false;
  bool is_addressed = true;      ///< the event is not for another workflow or instance only
  bool has_ended = false;        ///< of an instance: it can take no event any more
  bool knows_all_groups = true;  ///< of kGrouped: see more_groups
  std::string workflow;
  /// Of a start: the instance that it started, or because of which it is skipped.
  std::optional<InstanceId> instance;
  /// Of an instance that waits or has waited: when it started.
  std::optional<TimePoint> started;
  std::string state;  ///< of an instance
  /// Of a live instance that does not listen for the type, and is not about to: the state in which
  /// it is now, while `state` is the one that waited.
  std::string now_in;
  bool is_paused = false;          ///< of an instance with `now_in`
  std::optional<TimePoint> since;  ///< of an instance: when it entered the state; of a start:
                                   ///< when its definition was applied
  std::optional<EventPosition> listens_from;  ///< of an instance
  /// Of a state with `lookback`: from when on it takes events that came before it listens.
  std::optional<TimePoint> window_from;
  /// Of an instance whose wait is over: whether the event fits what it asked for; nullopt: that is
  /// not known.
  std::optional<bool> would_fit;
  /// Of an instance whose wait is over: which event has woken it, as a clause; empty: none has.
  std::string woken_by;
  Sealing sealed;
  Verdict verdict = Verdict::kPredicate;
  FilterResult result;
  std::vector<std::string> waits_for;  ///< of kFilled and kGrouped: the types that still miss
  CorrelationValues correlation;       ///< of kGrouped: by which values the event is grouped
  /// Of kGrouped: groups with an event of a missing type; if some have a hint, only these.
  std::vector<NearGroup> near_groups;
  /// Of kGrouped: how many others of these there are; without knows_all_groups, of those that were
  /// looked at.
  size_t more_groups = 0;
  /// Of kGrouped, and of kLifespan after a lifespan that ended: of a start with a lifespan.
  std::optional<AwaitedPartners> partners;
  std::optional<LeftPartner> left_partner;  ///< one of these that left its group before
  std::vector<std::string> lacks;  ///< of kCorrelation: the attributes that the event lacks
  /// Of a start that a test event would cause: what the limits would do with it.
  std::optional<PredictedStart> start;
  std::string note;  ///< says what the verdict alone does not; may be empty
};

/// How long the event came before the wait, or the definition of the start; nullopt: the verdict is
/// another one, or the times do not show it, since those of events are of the clock of the broker.
std::optional<Duration> early_by(const JudgedListener& one, const EventStanding& event);

/// Whether the event came before the instance listened, and is in the window of its state.
bool is_early(const JudgedListener& one, const EventStanding& event);

/// What the verdict means, and what to do, as sentences. Has no value of a predicate, and of the
/// event only excerpts of the values by which it is grouped.
std::string says(const JudgedListener& one, const EventStanding& event);

/// Whether the event fits what an instance asked for whose wait is over, as a clause; empty: that
/// is not known.
std::string fit_says(const JudgedListener& one);

/// {"attribute","kind","asks","got","holds","hint"?,"says"?,"fits"?}: what is asked is disclosed,
/// values of secrets are masked in `got` too unless the caller sent it (`is_test`), and a predicate
/// of which something is hidden has no hint. `fits` is a value for which the predicate holds; it is
/// missing if a mask would change it.
Json to_json(const PredicateResult& one, const Disclosure& disclosure, bool is_test = false);

/// The members that describe the verdict: "verdict", "says", "predicates", "lookbackFrom"?,
/// "waitsFor"?, "correlate"?, "nearGroups"?, "corrections"?, "moreGroups"?, "leftPartner"?,
/// "early"?, "wouldFit"?, "ended"? and "stateNow"?.
Json verdict_json(const JudgedListener& one, const EventStanding& event,
                  const Disclosure& disclosure);

/// verdict_json() with the members that describe the listener: "kind", "workflow", "instance"?,
/// "state"?, "since"?, "start"? (PredictedStart).
Json to_json(const JudgedListener& one, const EventStanding& event, const Disclosure& disclosure);

}  // namespace millrace
