// AckedMessages: messages that the broker has acknowledged and may still lose, because the broker
// syncs later than it acknowledges. The rows of acked messages stay in the outbox for a while. The
// table `sent`, one row for each batch, lists the acked messages with their stream sequences; this
// class is a write-through cache of that table. Engine thread only.
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

/// How long, and up to which total size, acked messages stay in the outbox. The stricter limit
/// applies, and the oldest are erased first.
struct AckedLimits {
  /// Engine time: twice the maximum time between syncs of a NATS server with default settings.
  Duration time = std::chrono::minutes(4);
  uint64_t bytes = uint64_t{256} << 20;
};

class AckedMessages {
 public:
  using Message = SentRecord::Message;

  /// About how many messages one batch erases, in whole rows: kErasedAtOnce if messages exceed
  /// AckedLimits, kErasedWhenFull if the store is full.
  static constexpr size_t kErasedAtOnce = 1'000;
  static constexpr size_t kErasedWhenFull = 2'000;
  /// The most messages of one row.
  static constexpr size_t kMostInRow = 500;

  explicit AckedMessages(AckedLimits limits) : limits_(limits) {}

  Status load(const View& view, const OnDamage& damaged = nullptr);

  /// Adds a message acknowledged in the current batch; write() stores these messages. `openings`:
  /// how many attempts to open the event stream had been made when the broker acknowledged the
  /// message.
  void add(const Message& message, uint64_t openings) { batch_[openings].push_back(message); }
  void write(Transaction& tx, int64_t stream_created, TimePoint now);

  /// Erases messages that exceed the limits.
  void trim(Transaction& tx, TimePoint now);
  /// Erases the oldest messages, regardless of the limits.
  void drop(Transaction& tx);

  /// Removes and returns the messages that the stream created at `stream_created` stored after
  /// `sequence` and that were acknowledged before attempt `openings` to open the stream: the caller
  /// must send them again.
  std::vector<Message> take_behind(Transaction& tx, int64_t stream_created, uint64_t sequence,
                                   uint64_t openings);

  /// The numbers of the acked messages from `number` on, in no particular order.
  std::vector<uint64_t> numbers_from(uint64_t number) const;

 private:
  struct Row {
    uint64_t number = 0;
    SentRecord record;
    /// How many attempts to open the stream had been made at the acknowledgement. Not stored:
    /// messages of an earlier process were acknowledged before any attempt of this process.
    uint64_t openings = 0;
  };
  size_t erase_oldest(Transaction& tx);

  AckedLimits limits_;
  std::deque<Row> rows_;  ///< oldest first
  /// The highest number of a row so far, so that this process uses no number twice.
  uint64_t last_number_ = 0;
  uint64_t bytes_ = 0;
  /// Messages acknowledged in the current batch, by openings.
  std::map<uint64_t, std::vector<Message>> batch_;
};

}  // namespace millrace
