// Dedupe: which events have had an effect lately, by fingerprint of (namespace, source, id). A
// cache of the store's dedupe rows, one a batch, written through. Engine thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/batch_notes.h"
#include "base/bytes.h"
#include "base/defaults.h"
#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// What an event is known as.
Fingerprint fingerprint_of(std::string_view space, const Event& event);

/// For how long, and of how many events, ids are remembered.
struct DedupeWindow {
  Duration time = defaults::kDedupeWindow;  ///< of broker time
  size_t events = defaults::kDedupeEvents;
};

class Dedupe {
 public:
  Dedupe(DedupeWindow window, const BatchCount& batches) : window_(window), undo_(batches) {}

  Status load(const View& view, const OnDamage& damaged = nullptr);

  /// Forgets what has left the window by this time of the broker.
  Status move_to(Transaction& tx, TimePoint time);

  bool seen(const Fingerprint& event) const { return set_.contains(event); }

  /// Remembers an event of the batch in hand that had an effect.
  void add(const Fingerprint& event);

  /// Writes the batch's row, and erases the oldest ones where there are too many. `time` and
  /// `sequence` are of the batch's last event.
  Status end_batch(Transaction& tx, TimePoint time, uint64_t sequence);

  /// The batch is lost.
  void undo();

 private:
  /// A fingerprint is a good hash already.
  struct Hash {
    using is_avalanching = void;
    size_t operator()(const Fingerprint& event) const;
  };
  /// The key of a row.
  struct Row {
    TimePoint time;
    uint64_t sequence = 0;

    bool operator==(const Row&) const = default;
  };
  struct Forgotten {
    Row row;
    std::vector<Fingerprint> events;
  };
  /// What the batch in hand has changed.
  struct Undo {
    std::vector<Fingerprint> added;
    std::vector<Forgotten> forgotten;  ///< oldest first
    bool has_row = false;              ///< the newest row is of this batch
  };
  Status forget_oldest(Transaction& tx);

  DedupeWindow window_;
  boost::unordered_flat_set<Fingerprint, Hash> set_;
  std::deque<Row> rows_;  // oldest first
  std::vector<Fingerprint> batch_;
  BatchNotes<Undo> undo_;
};

}  // namespace millrace
