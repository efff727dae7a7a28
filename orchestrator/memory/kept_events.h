// KeptEvents: events that were applied while an instance could not listen for them yet, because the
// instance was evaluating, between two steps, or waiting for its calls. Such an event is stored,
// numbered in order of arrival, until no instance can come to wait for it any more. An instance
// that starts to listen is offered the kept events after its `listen_from`. Events that several
// batches deliver (fan-outs, late matches) are kept events, too. The events are rows of the store;
// memory has their numbers and the instances that may need them. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/batch_notes.h"
#include "base/bytes.h"
#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "matchers/match_budget.h"
#include "matchers/pattern_results.h"
#include "model/instance.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/memory/undecided.h"
#include "orchestrator/store/rows/event_rows.h"

namespace millrace {

/// A kept event that matches a listener of an instance.
struct KeptEventMatch {
  ListenFrom position;  ///< of the kept event
  std::shared_ptr<const Event> event;
  std::vector<size_t> entries;  ///< entries of the matching listeners, ascending
  TimePoint after_timers;       ///< KeptEventRecord::after_timers
};

/// The result of a search for the first kept event that matches an instance. At most one member is
/// set; none is set if no kept event matches.
struct KeptEventSearch {
  std::optional<KeptEventMatch> match;
  /// The number of the kept event at which the budget was spent. No earlier one matches.
  std::optional<uint64_t> stopped_at;
  /// The number of the first kept event beyond the range of the search that may match.
  std::optional<uint64_t> next;
};

/// A kept event that is held, with what fan-outs and late matches need besides.
struct HeldEvent {
  std::shared_ptr<const Event> event;
  EventPosition position;
  Fingerprint known_as{};
  TimePoint stamped;       ///< KeptEventRecord::stamped
  TimePoint after_timers;  ///< KeptEventRecord::after_timers
};

/// Types of events; nullopt: all types.
using HeldTypes = std::optional<std::set<std::string>>;

/// Whether the instance may start to listen without an event, a timer or a command: it is
/// evaluating, between two steps, or waiting for its calls. Reads only the head of the instance.
bool may_come_to_listen(const Instance& instance);

class KeptEvents {
 public:
  KeptEvents(Damages& damages, const BatchCount& batches) : damages_(damages), undo_(batches) {}

  /// Reads the kept events. The caller then calls update() for the instances.
  Status load(const View& view);

  /// Notes whether events must be kept for the instance (may_come_to_listen), and of which types.
  void update(const Instance& instance, std::shared_ptr<const AwaitedTypes> types);
  void forget(const InstanceId& instance);

  /// The number of the newest kept event so far: an instance that is stepped now listens to the
  /// events after it.
  uint64_t last() const { return last_; }
  /// The number of the newest event of the namespace that is still kept; 0: there is none.
  uint64_t last_of(NamespaceNumber ns) const;

  /// Whether an event of that type must be kept: an instance may come to wait for it, also one that
  /// has not got an earlier event which is held (hold()).
  bool wants(NamespaceNumber ns, std::string_view type) const;

  /// Whether that event is a kept event. A kept event may still have an effect, so a second copy of
  /// the event is a duplicate.
  bool seen(const Fingerprint& known_as) const { return known_.contains(known_as); }

  /// Stores an event as a kept event. `stamped` and `after_timers` as in KeptEventRecord.
  void keep(Transaction& tx, NamespaceNumber ns, const Event& event, const Fingerprint& known_as,
            const EventPosition& position, TimePoint stamped = {}, TimePoint after_timers = {});

  /// Holds a kept event that not all matching instances and starts have got yet: until let_go() the
  /// event is not trimmed, and all later events of its namespace become kept events. An event that
  /// is held twice must be let go twice. Returns the namespace. Error: a damaged row of `fanout`,
  /// if there is no kept event with that number.
  /// `types`: only later events of these types become kept events, because those that have not got
  /// the held one may come to wait for no others. They stay wanted as long as an event of the
  /// namespace is held.
  Result<NamespaceNumber> hold(uint64_t number, const HeldTypes& types = std::nullopt);
  /// The same for a kept event of the namespace `ns`, without a search through the namespaces.
  Status hold(NamespaceNumber ns, uint64_t number, const HeldTypes& types = std::nullopt);
  /// Adds types for an event of the namespace that is held already.
  void hold_types(NamespaceNumber ns, const HeldTypes& types);
  void let_go(uint64_t number);
  /// Reads the kept event with that number, which is held. Error: a damaged row.
  Result<HeldEvent> read(const View& view, uint64_t number);

  /// The numbers of kept events in which find() searches; both ends are included.
  struct Range {
    uint64_t from = 0;
    uint64_t to = std::numeric_limits<uint64_t>::max();
  };
  /// The first kept event in the range, and after the instance's `listen_from`, that one of its
  /// listeners matches; searched for as far as the budget suffices.
  Result<KeptEventSearch> find(const View& view, const Instance& instance, const Range& range,
                               MatchBudget& budget);
  /// Whether the event, which is the kept event with that number, matches the filter.
  Result<Decision> decide(uint64_t number, const Attributes& event, const EventFilter& filter,
                          MatchBudget& budget) {
    return results_.decide(filter, number, event, budget, over_limit_);
  }
  /// The position of the last kept event of the namespace that came before a timer with that
  /// deadline, of those after `from`; `from` if there is none.
  ListenFrom last_before(NamespaceNumber ns, TimePoint deadline, const ListenFrom& from) const;
  /// The position just before the kept event of the namespace with that number; {}: the stream has
  /// no event before it, or it is not kept.
  EventPosition just_before(NamespaceNumber ns, uint64_t number) const;
  /// KeptEventRecord::after_timers of the kept event of the namespace with that number.
  TimePoint after_timers(NamespaceNumber ns, uint64_t number) const;

  /// Calls `see` with the number and the size in bytes of each kept event of the namespace, from
  /// the number `from` on.
  void each_size(NamespaceNumber ns, uint64_t from,
                 const std::function<void(uint64_t number, size_t size)>& see) const;

  /// Whether any event is held. Otherwise nothing is undecided.
  bool holds_any() const { return !held_in_.empty(); }
  /// The instances and starts for which a kept event is undecided.
  Undecided& undecided() { return undecided_; }
  const Undecided& undecided() const { return undecided_; }
  /// How many runs of a pattern for kept events have reached Pattern::kMatchLimit so far.
  uint64_t patterns_over_limit() const { return over_limit_; }

  /// Erases kept events that no instance of their namespace can need any more, as many as one batch
  /// should. The namespaces take turns.
  void trim(Transaction& tx);

  /// Undoes the changes of a batch that was lost. No event is held afterwards. The caller must call
  /// update() or forget() for each returned instance.
  std::vector<std::pair<NamespaceNumber, InstanceId>> undo();

 private:
  struct PendingListener {
    NamespaceNumber ns{};
    uint64_t from = 0;  ///< ListenFrom::kept of the instance
    std::shared_ptr<const AwaitedTypes> types;
  };
  struct Kept {
    KeptEventPlace place;
    Fingerprint known_as;
    EventPosition position;
    size_t size = 0;  ///< of the event in JSON format
    TimePoint after_timers;
  };
  struct Holding {
    KeptEventPlace place;
    size_t holders = 1;
    std::optional<HeldEvent> event = {};  ///< set once it was read
  };

  struct HeldSpace {
    size_t events = 0;     ///< the number of held events
    bool has_all = false;  ///< events of all types are wanted
    std::set<std::string, std::less<>> types;
  };

  /// The changes of the current batch.
  struct Undo {
    std::optional<uint64_t> last;  ///< the value before the batch; nullopt: the batch kept no event
    std::vector<Kept> trimmed;
    std::vector<std::pair<NamespaceNumber, InstanceId>> instances;
  };

  /// The kept events of one namespace, by number.
  using KeptQueue = std::deque<Kept>;

  const KeptQueue& kept_of(NamespaceNumber ns) const;
  static KeptQueue::const_iterator from_number(const KeptQueue& kept, uint64_t number);
  void remove_from(NamespaceNumber ns, uint64_t from);
  Result<std::shared_ptr<const Event>> event_at(const View& view, const KeptEventPlace& place,
                                                ListenFrom& position);

  Damages& damages_;
  uint64_t last_ = 0;
  BatchNotes<Undo> undo_;
  boost::unordered_flat_map<InstanceId, PendingListener, std::hash<InstanceId>> pending_listeners_;
  /// How many of the pending listeners may come to wait for a type.
  std::map<std::pair<NamespaceNumber, std::string>, size_t> awaited_;
  /// From where pending listeners listen, and what is before held events. No multiset is empty.
  std::map<NamespaceNumber, std::multiset<uint64_t>> froms_;
  std::map<uint64_t, Holding> held_;              ///< by number
  std::map<NamespaceNumber, HeldSpace> held_in_;  ///< those that have held events
  std::map<NamespaceNumber, KeptQueue> kept_;     ///< no queue is empty
  NamespaceNumber trimmed_{};    ///< the namespace of which trim() erased events last
  std::set<Fingerprint> known_;  ///< the fingerprints of all kept events
  PatternResults results_;       ///< by the numbers of kept events
  uint64_t over_limit_ = 0;
  Undecided undecided_;
};

}  // namespace millrace
