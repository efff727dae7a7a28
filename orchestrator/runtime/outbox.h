// Outbox: sends the messages of committed batches. Each is a row until the broker has it; one that
// was not acknowledged is sent again under the same Nats-Msg-Id, for ever. The events of one
// instance are sent one after the other, each when the one before it is acknowledged, so whatever
// fails they arrive in their order; between instances there is none. Times are Clock::elapsed().
// Engine thread only; acknowledgements come in through settle().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/runtime/seams.h"
#include "orchestrator/store/tables.h"

namespace millrace {

/// How much of the outbox a message takes, roughly.
uint64_t size_of(const OutboxRecord& record);

class Outbox {
 public:
  /// How many messages are taken from the store at a time: under way, or waiting for one that is.
  static constexpr size_t kWindow = 4096;
  /// How long to wait before sending again what failed.
  static constexpr Duration kRetryDelay{250};

  /// Is told, on any thread, what became of a message.
  using Settled = std::function<void(uint64_t number, Result<PublishAck> ack)>;

  Outbox(Publisher& publisher, Settled settled)
      : publisher_(publisher), settled_(std::move(settled)) {}

  /// Takes in what `settled` told: erases the row, or notes that it must be sent again. To be told
  /// again when the batch in which it was is lost.
  void settle(Transaction& tx, uint64_t number, const Result<PublishAck>& ack, Duration elapsed);

  /// Finds what the store holds of an earlier life.
  Status load(const View& view);

  /// A batch with messages of so many bytes is on disk.
  void committed(uint64_t bytes) {
    has_more_ = true;
    bytes_ += bytes;
  }

  /// Sends what is committed and due, as far as the window reaches.
  Status pump(const View& view, Duration elapsed);

  /// Whether pump() would send something now.
  bool has_due() const { return !due_.empty() || (has_more_ && taken() < kWindow); }
  /// When pump() is to be called again after a failure.
  std::optional<Duration> retry_at() const { return retry_at_; }

  /// Whether all that pump() found has been settled.
  bool idle() const { return taken() == 0; }
  size_t in_flight() const { return under_way_.size(); }
  /// Of the messages that are not acknowledged yet.
  uint64_t bytes() const { return bytes_; }

 private:
  /// Messages by number: whose they are, and how large.
  struct Message {
    std::optional<InstanceId> instance;
    uint64_t bytes = 0;
  };
  using Messages = std::map<uint64_t, Message>;

  size_t taken() const { return under_way_.size() + due_.size() + failed_.size() + behind_; }
  void take(uint64_t number, OutboxRecord record);
  void send(uint64_t number, OutboxRecord record);

  Publisher& publisher_;
  Settled settled_;

  uint64_t next_ = 1;          ///< no row below it has yet to be taken
  bool has_more_ = true;       ///< there may be rows from next_ on
  Messages under_way_;         ///< sent and not settled
  std::set<uint64_t> due_;     ///< to be sent by the next pump()
  std::set<uint64_t> failed_;  ///< to be sent again at retry_at_
  std::optional<Duration> retry_at_;
  /// For each instance of which a message is taken: those that come behind it.
  std::map<InstanceId, std::deque<uint64_t>> lines_;
  size_t behind_ = 0;   ///< how many stand in lines_
  uint64_t bytes_ = 0;  ///< of all rows
};

}  // namespace millrace
