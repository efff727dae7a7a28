// KeptEvents: events that were applied while an instance could not listen for them yet, because the
// instance was evaluating, between two steps, or waiting for its calls. Such an event is stored,
// numbered in order of arrival, until no instance can come to wait for it any more. An instance
// that starts to listen is offered the kept events after its `listen_from`. The events are rows of
// the store; memory has their numbers and the instances that may need them. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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
#include "model/instance.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/store/rows/event_rows.h"

namespace millrace {

/// A kept event that matches a listener of an instance.
struct KeptEventMatch {
  ListenFrom position;  ///< of the kept event
  /// When the broker stored the event, but not after the batch that kept it; TimePoint::min() if an
  /// earlier process kept it.
  TimePoint stamped;
  std::shared_ptr<const Event> event;
  std::vector<size_t> entries;  ///< entries of the matching listeners, ascending
};

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

  /// Whether an event of that type must be kept: an instance may come to wait for it, or an earlier
  /// event of the namespace is held (hold()).
  bool wants(NamespaceNumber ns, std::string_view type) const;

  /// Whether that event is a kept event. A kept event may still have an effect, so a second copy of
  /// the event is a duplicate.
  bool seen(const Fingerprint& known_as) const { return known_.contains(known_as); }

  /// `stamped`: see KeptEventMatch.
  void keep(Transaction& tx, NamespaceNumber ns, const Event& event, const Fingerprint& known_as,
            const EventPosition& position, TimePoint stamped = TimePoint::min());

  /// Holds a kept event that not all matching instances have got yet: until let_go() the event is
  /// not trimmed, and all later events of its namespace become kept events. Returns the namespace,
  /// the event and its position.
  struct Held {
    NamespaceNumber ns{};
    std::shared_ptr<const Event> event;
    EventPosition position;
  };
  Result<Held> hold(const View& view, uint64_t number);
  void let_go(uint64_t number);

  /// The first kept event after the instance's `listen_from` that one of its listeners matches.
  Result<std::optional<KeptEventMatch>> find(const View& view, const Instance& instance) const;

  /// Erases kept events that no instance can need any more, as many as one batch should.
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
    TimePoint stamped = TimePoint::min();
  };

  /// The changes of the current batch.
  struct Undo {
    std::optional<uint64_t> last;  ///< the value before the batch; nullopt: the batch kept no event
    std::vector<Kept> trimmed;
    std::vector<std::pair<NamespaceNumber, InstanceId>> instances;
  };

  const Kept* find_kept(uint64_t number) const;

  Damages& damages_;
  uint64_t last_ = 0;
  BatchNotes<Undo> undo_;
  boost::unordered_flat_map<InstanceId, PendingListener, std::hash<InstanceId>> pending_listeners_;
  /// How many of the pending listeners may come to wait for a type.
  std::map<std::pair<NamespaceNumber, std::string>, size_t> awaited_;
  std::multiset<uint64_t> froms_;  ///< of pending listeners and held events
  std::map<uint64_t, Held> held_;  ///< by number
  std::deque<Kept> kept_;          ///< by number
  std::set<Fingerprint> known_;    ///< the fingerprints of all kept events
};

}  // namespace millrace
