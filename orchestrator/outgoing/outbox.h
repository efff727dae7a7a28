// Outbox: publishes the messages of committed batches. Each message is a row until the broker has
// acknowledged it; without an acknowledgement it is sent again under the same Nats-Msg-Id, without
// limit. The events of one instance are sent one after the other, each after the acknowledgement of
// the one before, so they arrive in their order whatever fails; messages of different instances
// have no order. Acked messages stay stored for a while, and are sent again if the broker turns out
// to have lost them. Times are Clock::elapsed(). Engine thread only; acknowledgements come in
// through on_ack().
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

/// The approximate size of a message in the outbox, in bytes.
uint64_t size_of(const OutboxRecord& record);

/// A row of the outbox.
struct NumberedMessage {
  uint64_t number = 0;
  OutboxRecord record;
};

class Outbox {
 public:
  /// How many messages may be in flight or due at a time.
  static constexpr size_t kWindow = 4096;
  /// How many messages may wait in memory, as numbers, for another one of their instance. They do
  /// not count for the window: otherwise the messages of one instance would hold up all others.
  static constexpr size_t kMostBehind = 1'000'000;
  /// How much one pump() takes from the store: messages, their bytes (one message may be larger),
  /// and rows that it reads, including those of acked messages.
  static constexpr size_t kTakenAtOnce = 256;
  static constexpr uint64_t kBytesAtOnce = uint64_t{256} << 10;
  static constexpr size_t kReadAtOnce = 2'000;
  /// The delay before a failed message is sent again.
  static constexpr Duration kRetryDelay{250};

  /// Called on any thread with the result of a publish.
  using OnPublished = std::function<void(uint64_t number, Result<PublishAck> ack)>;

  Outbox(Publisher& publisher, AckedLimits kept, OnPublished on_published)
      : publisher_(publisher), on_published_(std::move(on_published)), kept_(kept) {}

  /// Whether an acked message stays stored, or is erased because the store is full.
  enum class OnAck : uint8_t { kKeep, kErase };

  /// Applies a result that OnPublished received. After an acknowledgement it keeps or erases the
  /// row; after a failure it schedules the message again; a message that is too large is replaced
  /// by a dead letter. To be called again if the batch is lost. end_settling() must follow in the
  /// same batch. `openings`: how many attempts to open the event stream had been made when the
  /// result came.
  Status on_ack(Transaction& tx, uint64_t number, const Result<PublishAck>& ack, uint64_t openings,
                Duration elapsed, OnAck on_ack);
  void end_settling(Transaction& tx, int64_t stream_created, TimePoint now) {
    kept_.write(tx, stream_created, now);
  }

  /// To be called when the event stream was opened. The messages of the stream after sequence
  /// `intact_to` are lost: acked messages among them are sent again when the batch is on disk.
  /// Messages acknowledged since the start of attempt `openings` to open the stream are not lost:
  /// millrace requested the state of the stream before, so that state need not include them. To be
  /// called again if the batch is lost.
  void stream_opened(Transaction& tx, int64_t stream_created, uint64_t intact_to,
                     uint64_t openings);

  /// For batches that write something anyway: erases acked messages that exceed the limits.
  void trim_acked(Transaction& tx, TimePoint now) { kept_.trim(tx, now); }
  /// Frees space: erases the oldest acked messages, which no other message waits for.
  void drop_acked(Transaction& tx) { kept_.drop(tx); }

  /// Reads the messages that an earlier process left in the store.
  Status load(const View& view, const OnDamage& damaged = nullptr);
  /// Undoes the changes of a batch that was lost.
  Status forget_batch(const View& view, const OnDamage& damaged = nullptr);

  /// The batch with this message is on disk. If `sends`, the message is sent at once unless another
  /// one must go first; otherwise a later pump() reads it from the store.
  void committed(NumberedMessage message, bool sends);

  /// Sends some of the messages that are due, as far as the window allows; has_due() says whether
  /// more are due. Messages that cannot be read are left for the next call; the first such error is
  /// returned.
  Status pump(const View& view, Duration elapsed, const OnDamage& damaged = nullptr);

  /// Whether pump() would send something now.
  bool has_due() const { return again_ || !due_.empty() || (has_more_ && has_room()); }
  /// When pump() must be called again after a failure; nullopt: no message has failed.
  std::optional<Duration> retry_at() const { return retry_at_; }

  /// Whether all messages are acknowledged.
  bool idle() const { return active() == 0 && behind_ == 0 && !has_more_ && !again_; }
  size_t in_flight() const { return under_way_.size(); }
  /// Bytes of the messages that are not acknowledged yet.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Message {
    std::optional<InstanceId> instance;  ///< the sender; nullopt: sent in any order
    uint64_t bytes = 0;
    bool is_event = false;  ///< the message goes to the event stream
  };
  /// Acked messages to be sent again.
  struct Again {
    uint64_t from = 0;  ///< the lowest of their numbers
    uint64_t bytes = 0;
  };

  static Message describe(const OutboxRecord& record);
  size_t active() const { return under_way_.size() + due_.size() + failed_.size(); }
  /// Whether a further message may be taken from the store.
  bool has_room() const { return active() < kWindow && behind_ < kMostBehind; }
  Status was_taken(Transaction& tx, uint64_t number, uint64_t sequence, uint64_t openings,
                   OnAck on_ack);
  Result<uint64_t> bury(Transaction& tx, uint64_t number, const Error& error);
  void failed(uint64_t number, const std::optional<InstanceId>& instance, Duration elapsed);
  void line_moves_on(const InstanceId& instance);
  /// What one pump() may still take.
  struct Portion {
    size_t messages = kTakenAtOnce;
    uint64_t bytes = kBytesAtOnce;
    size_t rows = kReadAtOnce;

    bool is_spent() const { return messages == 0 || bytes == 0 || rows == 0; }
    void count(const OutboxRecord& record);
  };
  Status send_due(const View& view, Portion& portion);
  void look_from(uint64_t number);
  bool passes_over(uint64_t number) const;
  void take(uint64_t number, OutboxRecord record);
  void send(uint64_t number, OutboxRecord record);

  Publisher& publisher_;
  OnPublished on_published_;
  AckedMessages kept_;
  std::optional<Again> again_;  ///< found by the current batch

  uint64_t next_ = 1;                      ///< all rows with lower numbers were taken
  bool has_more_ = false;                  ///< there may be rows from next_ on
  std::vector<uint64_t> no_more_;          ///< rows from next_ on that must not be taken; sorted
  std::map<uint64_t, Message> under_way_;  ///< in flight, by number
  std::set<uint64_t> due_;                 ///< to be sent by the next pump()
  std::set<uint64_t> failed_;              ///< to be sent again at retry_at_
  std::optional<Duration> retry_at_;
  /// For each instance with a message in flight or due: its further messages, in order.
  std::map<InstanceId, std::deque<uint64_t>> lines_;
  size_t behind_ = 0;   ///< number of messages in lines_
  uint64_t bytes_ = 0;  ///< bytes of all messages except acked ones
};

}  // namespace millrace
