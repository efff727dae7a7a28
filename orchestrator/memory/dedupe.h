// Dedupe: the events that had an effect within the deduplication window, by the fingerprint of
// (namespace, source, id). A write-through cache of the store's deduplication rows, one row for
// each batch. Engine thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/attributes.h"
#include "base/batch_notes.h"
#include "base/bytes.h"
#include "base/defaults.h"
#include "base/event.h"
#include "base/result.h"
#include "base/sharded_table.h"
#include "base/time.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The fingerprint by which a duplicate is recognized.
Fingerprint fingerprint_of(std::string_view ns, const Event& event);
Fingerprint fingerprint_of(std::string_view ns, const Attributes& event);

/// How long, and for how many events, ids are remembered.
struct DedupeWindow {
  Duration time = defaults::kDedupeWindow;  ///< measured in the broker's time
  size_t events = defaults::kDedupeEvents;
};

class Dedupe {
 public:
  Dedupe(DedupeWindow window, const BatchCount& batches) : window_(window), undo_(batches) {}

  Status load(const View& view, const OnDamage& damaged = nullptr);

  /// Forgets events that have left the window at the broker time `time`.
  Status move_to(Transaction& tx, TimePoint time);

  bool seen(const Fingerprint& event) const { return set_.contains(event); }

  /// Remembers an event that had an effect in the current batch.
  void add(const Fingerprint& event);

  /// Writes the batch's row, and erases the oldest rows if there are more events than the window
  /// holds: about as many events as the batch adds, and some more. `time` and `sequence` are those
  /// of the batch's last event.
  Status end_batch(Transaction& tx, TimePoint time, uint64_t sequence);

  /// Undoes the changes of a batch that was lost.
  void undo();

 private:
  /// The hash of a fingerprint: its first bytes, since a fingerprint is a hash already.
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
  /// The changes of the current batch.
  struct Undo {
    std::vector<Fingerprint> added;
    std::vector<Forgotten> forgotten;  ///< oldest first
    bool has_row = false;              ///< the current batch has written the newest row
  };
  Result<size_t> forget_oldest(Transaction& tx);

  DedupeWindow window_;
  ShardedTable<boost::unordered_flat_set<Fingerprint, Hash>> set_;
  std::deque<Row> rows_;  // oldest first
  std::vector<Fingerprint> batch_;
  BatchNotes<Undo> undo_;
};

}  // namespace millrace
