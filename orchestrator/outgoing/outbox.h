// Outbox: sends the messages of committed batches. Each is a row until the broker has it; one that
// was not acknowledged is sent again under the same Nats-Msg-Id, for ever. The events of one
// instance are sent one after the other, each when the one before it is acknowledged, so whatever
// fails they arrive in their order; between instances there is none. What the broker acknowledged
// stays as *kept* for a while, and is sent again if it turns out that the broker lost it. Times are
// Clock::elapsed(). Engine thread only; acknowledgements come in through settle().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/outgoing/acked_messages.h"
#include "orchestrator/ports/event_stream.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/outbox_rows.h"

namespace millrace {

/// How much of the outbox a message takes, roughly.
uint64_t size_of(const OutboxRecord& record);

/// A row of the outbox.
struct NumberedMessage {
  uint64_t number = 0;
  OutboxRecord record;
};

class Outbox {
 public:
  /// How many messages are taken from the store at a time: under way, or waiting for one that is.
  static constexpr size_t kWindow = 4096;
  /// How long to wait before sending again what failed.
  static constexpr Duration kRetryDelay{250};

  /// Is told, on any thread, what became of a message.
  using Settled = std::function<void(uint64_t number, Result<PublishAck> ack)>;

  Outbox(Publisher& publisher, KeptLimits kept, Settled settled)
      : publisher_(publisher), settled_(std::move(settled)), kept_(kept) {}

  /// Whether what the broker has taken is kept, or leaves no room for that.
  enum class OnAck : uint8_t { kKeep, kErase };

  /// Takes in what `settled` told: keeps the row or erases it, notes that it must be sent again, or
  /// puts a dead letter in the place of what is too large. To be told again when the batch in which
  /// it was is lost. end_settling() follows before that batch ends.
  /// `openings`: how often the event stream had begun to be opened when the broker said it.
  Status settle(Transaction& tx, uint64_t number, const Result<PublishAck>& ack, uint64_t openings,
                Duration elapsed, OnAck on_ack);
  void end_settling(Transaction& tx, int64_t stream_created, TimePoint now) {
    kept_.write(tx, stream_created, now);
  }

  /// Of the event stream that was opened, what it took behind that sequence is lost: once the batch
  /// is on disk, it is sent again. Not lost is what was acknowledged with at least `openings`: the
  /// stream had been asked for its state before, and had no way to know of it. To be told again
  /// when the batch is lost.
  void stream_opened(Transaction& tx, int64_t stream_created, uint64_t intact_to,
                     uint64_t openings);

  /// For batches that write something anyway: erases what has been kept for long enough.
  void trim_kept(Transaction& tx, TimePoint now) { kept_.trim(tx, now); }
  /// Makes room: erases the oldest of what is kept, which nothing waits for.
  void drop_kept(Transaction& tx) { kept_.drop(tx); }

  /// Finds what the store holds of an earlier life.
  Status load(const View& view, const OnDamage& damaged = nullptr);
  /// The batch in hand is lost.
  Status forget_batch(const View& view, const OnDamage& damaged = nullptr);

  /// A batch with this message is on disk. If `sends`, it is sent at once unless something waits
  /// before it; else it is read again when its turn comes.
  void committed(NumberedMessage message, bool sends);

  /// Sends what is committed and due, as far as the window reaches. What cannot be read is left for
  /// the next call; the error is the first of those.
  Status pump(const View& view, Duration elapsed, const OnDamage& damaged = nullptr);

  /// Whether pump() would send something now.
  bool has_due() const { return again_ || !due_.empty() || (has_more_ && taken() < kWindow); }
  /// When pump() is to be called again after a failure.
  std::optional<Duration> retry_at() const { return retry_at_; }

  /// Whether all is acknowledged.
  bool idle() const { return taken() == 0 && !has_more_ && !again_; }
  size_t in_flight() const { return under_way_.size(); }
  /// Of the messages that are not acknowledged yet.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Message {
    std::optional<InstanceId> instance;  ///< whose it is
    uint64_t bytes = 0;
    bool is_event = false;  ///< for the event stream
  };
  /// What of the kept ones is to be sent again.
  struct Again {
    uint64_t from = 0;  ///< the first of their numbers
    uint64_t bytes = 0;
  };

  static Message describe(const OutboxRecord& record);
  size_t taken() const { return under_way_.size() + due_.size() + failed_.size() + behind_; }
  Status was_taken(Transaction& tx, uint64_t number, uint64_t sequence, uint64_t openings,
                   OnAck on_ack);
  Result<uint64_t> bury(Transaction& tx, uint64_t number, const Error& error);
  void failed(uint64_t number, const std::optional<InstanceId>& instance, Duration elapsed);
  void line_moves_on(const InstanceId& instance);
  void look_from(uint64_t number);
  bool passes_over(uint64_t number) const;
  void take(uint64_t number, OutboxRecord record);
  void send(uint64_t number, OutboxRecord record);

  Publisher& publisher_;
  Settled settled_;
  Kept kept_;
  std::optional<Again> again_;  ///< of the batch in hand

  uint64_t next_ = 1;                      ///< no row below it has yet to be taken
  bool has_more_ = false;                  ///< there may be rows from next_ on
  std::vector<uint64_t> no_more_;          ///< rows from next_ on that need not be taken; sorted
  std::map<uint64_t, Message> under_way_;  ///< by number: sent and not settled
  std::set<uint64_t> due_;                 ///< to be sent by the next pump()
  std::set<uint64_t> failed_;              ///< to be sent again at retry_at_
  std::optional<Duration> retry_at_;
  /// For each instance of which a message is taken: those that come behind it, in order.
  std::map<InstanceId, std::deque<uint64_t>> lines_;
  size_t behind_ = 0;   ///< how many stand in lines_
  uint64_t bytes_ = 0;  ///< of all rows that are not kept
};

}  // namespace millrace
