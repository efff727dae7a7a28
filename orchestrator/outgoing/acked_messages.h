// AckedMessages: messages that the broker has acknowledged and may still lose, because it syncs
// later than it acknowledges. Their rows stay in the outbox for a while. The table `sent`, one row
// for each batch, lists them with their stream sequences; this class is a write-through cache of
// it. Engine thread only.
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

/// How long, and up to which total size, acked messages stay stored. The stricter limit applies,
/// and the oldest are erased first.
struct AckedLimits {
  /// Engine time: twice the maximum time between syncs of a NATS server with default settings.
  Duration time = std::chrono::minutes(4);
  uint64_t bytes = uint64_t{256} << 20;
};

class AckedMessages {
 public:
  using Message = SentRecord::Message;

  /// How many messages are erased in one batch, in whole rows: by age or size, or when the store is
  /// full.
  static constexpr size_t kErasedAtOnce = 1'000;
  static constexpr size_t kErasedWhenFull = 16'000;

  explicit AckedMessages(AckedLimits limits) : limits_(limits) {}

  Status load(const View& view, const OnDamage& damaged = nullptr);

  /// Adds a message acknowledged in the current batch; write() stores these messages. `openings`:
  /// opening attempts of the event stream when the broker acknowledged the message.
  void add(const Message& message, uint64_t openings) { batch_[openings].push_back(message); }
  void write(Transaction& tx, int64_t stream_created, TimePoint now);

  /// Erases messages that exceed the limits.
  void trim(Transaction& tx, TimePoint now);
  /// Erases the oldest messages, regardless of the limits.
  void drop(Transaction& tx);

  /// Removes and returns the messages that were stored after that sequence of that stream and
  /// acknowledged with fewer openings: they must be sent again.
  std::vector<Message> take_behind(Transaction& tx, int64_t stream_created, uint64_t sequence,
                                   uint64_t openings);

  /// The message numbers from that one on, in no particular order.
  std::vector<uint64_t> numbers_from(uint64_t number) const;

 private:
  struct Row {
    uint64_t number = 0;
    SentRecord record;
    /// Opening attempts of the stream at the acknowledgement. Not stored: messages of an earlier
    /// process were acknowledged before any opening of this one.
    uint64_t openings = 0;
  };
  size_t erase_oldest(Transaction& tx);

  AckedLimits limits_;
  std::deque<Row> rows_;      ///< oldest first
  uint64_t last_number_ = 0;  ///< so that no number is used twice in this process
  uint64_t bytes_ = 0;
  std::map<uint64_t, std::vector<Message>> batch_;  ///< by openings
};

}  // namespace millrace
