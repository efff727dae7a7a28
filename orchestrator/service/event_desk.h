// EventDesk: what the gateway may request about the events of the event stream that are stored. Any
// thread. Each call may wait for the broker for some seconds, so it belongs in a lane of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/event.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// Which events a list shows. An empty text fits every event.
struct EventListFilter {
  size_t limit = 50;
  uint64_t before = 0;            ///< only events with lower sequences; 0: all
  std::optional<uint64_t> after;  ///< only events with higher sequences, and the oldest first
  std::string type;               ///< a glob
  std::string source;             ///< a glob
  std::string id;
  std::optional<TimePoint> since;  ///< stored then or later
  std::optional<TimePoint> until;  ///< stored before
  std::optional<bool> effect;      ///< whether the event had an effect on an instance or a group
  std::optional<bool> generated;   ///< whether a generateEvent state has published the event
  /// Context attributes, and the value that each must have, as text.
  std::vector<std::pair<std::string, std::string>> attributes = {};
};

/// What may take a replayed event; neither: each listener that it matches.
struct ReplayTarget {
  std::string workflow;
  std::optional<InstanceId> instance;
};

/// The replay of one stored event.
struct EventReplay {
  uint64_t sequence = 0;
  bool same_id = false;  ///< publish the event under its own id; otherwise under a new one
  ReplayTarget target = {};
  // Corrections. With one of them the event has a new id in any case.
  std::map<std::string, AttributeValue> attributes = {};  ///< are set or replaced: see corrected()
  std::string to_ns = {};  ///< the namespace to which the event is sent; empty: the same one

  bool is_corrected() const { return !attributes.empty() || !to_ns.empty(); }
};

/// The replay of a range of the event stream, under new ids.
struct RangeReplay {
  uint64_t first = 0;  ///< from this sequence on; 0: from the oldest message
  uint64_t last = 0;   ///< up to this sequence; 0: up to the newest message
  std::optional<TimePoint> since = std::nullopt;  ///< only events that were stored then or later
  std::optional<TimePoint> until = std::nullopt;  ///< only events that were stored before
  std::string type = {};                          ///< a glob; empty: all
  std::string source = {};                        ///< a glob; empty: all
  ReplayTarget target = {};
  uint32_t rate = 1'000;  ///< events a second, at most kMostReplayRate
  bool is_dry = false;    ///< only count the events that match
};
inline constexpr uint32_t kMostReplayRate = 100'000;

class EventDesk {
 public:
  using Done = std::function<void(Result<Json>)>;  ///< called once, on any thread

  virtual ~EventDesk() = default;

  /// {"items":[{"sequence","time","id","type","source","subject"?,"attributes":{…},"size",
  /// "applied","effects":[{"what","instance"|"workflow"?}],"effectCount","to"?:
  /// {"workflow"|"instance","deleted"?}}],"complete","looked",
  /// "newest","next","inOtherCase"?}, newest first. `time` is when the broker stored the event,
  /// `attributes` are the other context attributes, `size` is in bytes. `applied` is false until
  /// the engine has applied the event. A message that is not an event has {"error":{"code","msg"}}
  /// in place of its attributes. At most kMostEventsLooked messages are looked at. `complete` is
  /// always true (store_reads.h): `next` continues the list. `newest` is the newest sequence of the
  /// stream. `next` becomes `before` of the next page; with `after` it becomes the next `after`,
  /// and is never null: it is `newest` at the end. A list without items has
  /// "inOtherCase":{"sequence","attributes":{…}} if one of the events that were looked at fits the
  /// filter apart from its effects, and from upper and lower case in `attributes`: the first such
  /// event, and its values that differ. Errors: `namespace.not_found`, and those of StoredEvents.
  virtual Result<Json> list(std::string_view ns, const EventListFilter& filter) = 0;

  /// One event: the members of an item of list(), with "event", the event in the JSON format,
  /// "position":{"stream","sequence"}, and "replayof" if the event replays another one. A message
  /// that is not an event has "headers":[[name,value]…], "data" and "encoding" instead. Error
  /// `event.not_found`.
  virtual Result<Json> get(std::string_view ns, uint64_t sequence) = 0;

  /// Publishes a stored event again: {"sequence","id"}, of the new message. With a new id, the
  /// event has the attribute `replayof`. The target and the quota are those of the namespace to
  /// which the event is sent. Errors: `namespace.not_found`; `event.not_found`; `event.unreadable`
  /// (the message is not an event); `event.id_known` (`same_id`, and the event would be a
  /// duplicate); those of corrected(), target_text() and replay_of();
  /// `millrace.quota.eventsPerSecond`; `busy`.
  virtual Result<Json> replay(std::string_view ns, const EventReplay& replay) = 0;
  /// The event that replay() would publish now; publishes nothing. A new id is another one each
  /// time. Errors: those of replay(), except the quota and those of publishing.
  virtual Result<Event> planned_replay(std::string_view ns, const EventReplay& replay) = 0;

  /// Begins the replay of a range: {"id"}. It continues in the background, also after a restart.
  /// The range ends with the newest message that the stream has now. Errors: those of
  /// target_text(); `replay.rate`; `replay.too_many` (kMostReplays, batch/command.h).
  virtual void begin_replay(std::string_view ns, const RangeReplay& range, Done done) = 0;
  /// {"items":[…],"next":null}, newest first; the items are those of replay_json()
  /// (event_replays.h). The newest kEndedReplaysKept ended replays are kept,
  /// and kAllEndedReplaysKept of all namespaces together.
  virtual Result<Json> replays(std::string_view ns) = 0;
  /// One of these. Error `replay.not_found`.
  virtual Result<Json> replay_progress(std::string_view ns, const std::string& id) = 0;
  /// Stops a running replay: {"id","stopped":true}. Events that it has sent stay. Errors
  /// `replay.not_found`, `replay.ended`.
  virtual void stop_replay(std::string_view ns, const std::string& id, Done done) = 0;
};

/// How many stored messages one request looks at.
inline constexpr size_t kMostEventsLooked = 1'000;

/// How many effects of an event are shown.
inline constexpr size_t kMostEffectsShown = 20;

}  // namespace millrace
