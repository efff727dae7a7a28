// Outbox: sends the messages of committed batches. Each is a row until the broker has it; a message
// that was sent and not acknowledged is sent again under the same Nats-Msg-Id. In order: after a
// failure nothing more is sent until all that is under way is settled, then it goes on from the
// first that failed. Engine thread only; acknowledgements come in through settle().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/runtime/seams.h"
#include "orchestrator/store/tables.h"

namespace millrace {

class Outbox {
 public:
  /// How many messages may be under way.
  static constexpr size_t kWindow = 4096;
  /// How long to wait before sending again after a failure.
  static constexpr Duration kRetryDelay{250};

  /// Is told, on any thread, what became of a message.
  using Settled = std::function<void(uint64_t number, Result<PublishAck> ack)>;

  Outbox(Publisher& publisher, Settled settled)
      : publisher_(publisher), settled_(std::move(settled)) {}

  /// Takes in what `settled` told: erases the row, or notes that it must be sent again.
  void settle(Transaction& tx, uint64_t number, const Result<PublishAck>& ack, TimePoint now);

  /// A batch with messages is on disk.
  void committed() { has_unsent_ = true; }

  /// The batch in which messages were settled is lost: their rows are still there.
  void rewind();

  /// Sends what is committed and not yet sent, as far as the window reaches.
  Status pump(const View& view, TimePoint now);

  /// When pump() is to be called again after a failure.
  std::optional<TimePoint> retry_at() const { return retry_at_; }

  /// Whether all that pump() found has been settled.
  bool idle() const { return in_flight_.empty() && !failed_; }
  size_t in_flight() const { return in_flight_.size(); }
  const Error* last_error() const { return failed_ ? &last_error_ : nullptr; }

 private:
  Publisher& publisher_;
  Settled settled_;
  uint64_t next_ = 1;       ///< no row below it has yet to be sent
  bool has_unsent_ = true;  ///< there may be rows from next_ on
  std::set<uint64_t> in_flight_;
  std::optional<uint64_t> failed_;  ///< the lowest number that failed
  std::optional<TimePoint> retry_at_;
  Error last_error_;
};

}  // namespace millrace
