// Recent: events that were applied while some instance was on its way to a wait (parked for an
// evaluation, between two turns, or waiting for its calls) and so could not listen yet. They are
// kept, numbered in the order of their coming, until nobody is on its way any more that may want
// them; an instance that begins to listen is offered those behind its `listen_from`. Rows of the
// store, with a picture in memory of who is on its way and what is kept. Engine thread only.
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
#include "model/instance.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/store/rows/event_rows.h"

namespace millrace {

/// A kept event that an instance was waiting for.
struct RecentMatch {
  uint64_t number = 0;
  std::shared_ptr<const Event> event;
  std::vector<size_t> entries;  ///< of the instance's listeners, ascending
};

/// Whether it may come to listen without an event, a timer or a command moving it: it evaluates,
/// is between two turns, or waits for its calls. A head will do.
bool is_on_its_way(const Instance& instance);

class Recent {
 public:
  Recent(Damages& damages, const BatchCount& batches) : damages_(damages), undo_(batches) {}

  /// Reads what is kept; the instances are to be shown by update().
  Status load(const View& view);

  /// Notes whether the instance is on its way, and to which types of events it may be.
  void update(const Instance& instance, std::shared_ptr<const AwaitedTypes> types);
  void forget(const InstanceId& instance);

  /// The number of the newest event that was ever kept: where who is moved now listens from.
  uint64_t last() const { return last_; }

  /// Whether events of that type must be kept: somebody who may come to wait for them is on its
  /// way, or an event before them is held.
  bool wants(NamespaceNumber space, std::string_view type) const;

  /// Whether that event is kept: it may have an effect yet, so another sending of it is a
  /// duplicate.
  bool seen(const Fingerprint& known_as) const { return known_.contains(known_as); }

  void keep(Transaction& tx, NamespaceNumber space, const Event& event,
            const Fingerprint& known_as);

  /// Keeps that event and all that follow it in its namespace until it is let go: not all whom it
  /// concerns have got it. Its place, and the event.
  struct Held {
    NamespaceNumber space{};
    std::shared_ptr<const Event> event;
  };
  Result<Held> hold(const View& view, uint64_t number);
  void let_go(uint64_t number);

  /// The first kept event behind the instance's `listen_from` that one of its listeners matches.
  Result<std::optional<RecentMatch>> find(const View& view, const Instance& instance) const;

  /// Erases what nobody can want any more, as much as one batch should.
  void trim(Transaction& tx);

  /// The batch in hand is lost: what is kept is as before. Nothing is held any more, and the
  /// instances that it returns are to be shown again, or forgotten.
  std::vector<std::pair<NamespaceNumber, InstanceId>> undo();

 private:
  struct OnItsWay {
    NamespaceNumber space{};
    uint64_t from = 0;  ///< where it listens from
    std::shared_ptr<const AwaitedTypes> types;
  };
  struct Kept {
    RecentPlace place;
    Fingerprint known_as;
  };

  /// What the batch in hand has changed.
  struct Undo {
    std::optional<uint64_t> last;  ///< before it kept anything
    std::vector<Kept> trimmed;
    std::vector<std::pair<NamespaceNumber, InstanceId>> instances;
  };

  Damages& damages_;
  uint64_t last_ = 0;
  BatchNotes<Undo> undo_;
  boost::unordered_flat_map<InstanceId, OnItsWay, std::hash<InstanceId>> on_their_way_;
  /// How many of them may come to wait for a type.
  std::map<std::pair<NamespaceNumber, std::string>, size_t> awaited_;
  std::multiset<uint64_t> froms_;  ///< of all of them, and of what is held
  std::map<uint64_t, Held> held_;  ///< by number
  std::deque<Kept> kept_;          ///< by number
  std::set<Fingerprint> known_;    ///< of all that is kept
};

}  // namespace millrace
