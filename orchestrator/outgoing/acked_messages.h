// Kept: messages that the broker has acknowledged and may yet lose, since it syncs later than it
// acknowledges. Their rows stay in the outbox for a while; which ones they are, and where in the
// stream, is in the table `sent`, one row a batch, of which this is a cache, written through.
// Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/outbox_rows.h"

namespace millrace {

/// Whichever is less; the oldest go first.
struct KeptLimits {
  /// Of engine time: twice what a server waits at most before it syncs, if nobody told it
  /// otherwise.
  Duration time = std::chrono::minutes(4);
  uint64_t bytes = uint64_t{256} << 20;
};

class Kept {
 public:
  using Message = SentRecord::Message;

  /// How many are erased in one batch, by whole rows: by age or size, and when the store is full.
  static constexpr size_t kErasedAtOnce = 1'000;
  static constexpr size_t kErasedWhenFull = 16'000;

  explicit Kept(KeptLimits limits) : limits_(limits) {}

  Status load(const View& view, const OnDamage& damaged = nullptr);

  /// One that the batch in hand takes note of; write() brings those to the store. `openings`: how
  /// often the event stream had begun to be opened when the broker acknowledged it.
  void add(const Message& message, uint64_t openings) { batch_[openings].push_back(message); }
  void write(Transaction& tx, int64_t stream_created, TimePoint now);

  /// Erases what has been kept for long enough, or is too much.
  void trim(Transaction& tx, TimePoint now);
  /// Erases the oldest, whatever their age.
  void drop(Transaction& tx);

  /// Takes out those that stood behind that sequence of that stream and were acknowledged with
  /// fewer openings: they are to be sent again.
  std::vector<Message> take_behind(Transaction& tx, int64_t stream_created, uint64_t sequence,
                                   uint64_t openings);

  /// The numbers from that one on, in no order.
  std::vector<uint64_t> numbers_from(uint64_t number) const;

 private:
  struct Row {
    uint64_t number = 0;
    SentRecord record;
    /// When its messages were acknowledged, as openings of the stream; not stored: what an earlier
    /// process left was acknowledged before any of this one.
    uint64_t openings = 0;
  };
  size_t erase_oldest(Transaction& tx);

  KeptLimits limits_;
  std::deque<Row> rows_;      ///< oldest first
  uint64_t last_number_ = 0;  ///< no row gets the number of one that this process has seen
  uint64_t bytes_ = 0;
  std::map<uint64_t, std::vector<Message>> batch_;  ///< by openings
};

}  // namespace millrace
