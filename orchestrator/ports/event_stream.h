// Deliveries of the event stream. DeliverySink is the port that the broker calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cloudevents/encoded_event.h"
#include "cloudevents/nats_binding.h"
#include "model/cursor.h"
#include "model/origin_mark.h"

namespace millrace {

/// An event of the stream.
struct EventInput {
  std::string ns;  ///< name of the namespace, from the subject
  uint64_t sequence = 0;
  TimePoint stamped;  ///< the broker's timestamp; decides whether a timeout came first
  bool more = false;  ///< the stream held later events, which may come before a due timer
  EncodedEvent event;
  size_t bytes = 0;  ///< EncodedEvent::size()
  /// The mark of an event that a source published, not checked yet; null: the event has none.
  std::shared_ptr<const OriginMark> origin = nullptr;
};

/// A message of the event stream that is not a valid event; it becomes a dead letter.
struct UnreadableInput {
  uint64_t sequence = 0;
  TimePoint stamped;
  bool more = false;  ///< as in EventInput
  Error reason;
  NatsMessage message;                                 ///< as received
  std::shared_ptr<const OriginMark> origin = nullptr;  ///< as in EventInput
};

/// Messages that the broker lost from the event stream without reporting it.
struct BrokerLoss {
  enum class Kind {
    kDropped,  ///< removed before they were read: by the stream's limits or by hand
    kTail,  ///< the newest messages, already applied, are gone; new messages get the same sequences
    kStream,  ///< the stream was created again and is read from its start
  };
  Kind kind{};
  /// The first and last lost sequence; for kStream both are the last sequence that was read.
  uint64_t first = 0;
  uint64_t last = 0;

  bool operator==(const BrokerLoss&) const = default;
};

/// The event stream was opened or reopened; the deliveries that follow come from the stream as it
/// is since then.
struct StreamOpened {
  /// The next delivery comes after this position, which may be before the latest one.
  Cursor position;
  uint64_t first_sequence = 0;  ///< the oldest message in the stream
  uint64_t last_sequence = 0;   ///< the newest message in the stream
  /// The messages with later sequences that the stream had stored before this opening are lost, as
  /// far as is known.
  uint64_t intact_to = std::numeric_limits<uint64_t>::max();
};
/// The stream had no message after the cursor when the broker was asked.
struct CaughtUp {};
/// The connection was lost; StreamOpened follows when it is restored.
struct StreamLost {};

/// An item of the event stream, in stream order.
using Delivery = std::variant<StreamOpened, CaughtUp, StreamLost, EventInput, UnreadableInput>;

class DeliverySink {
 public:
  virtual ~DeliverySink() = default;
  /// Blocks while too many deliveries wait, so that the caller pulls no more messages. Returns
  /// false if the sink is closed: the caller must deliver no more.
  virtual bool deliver(std::vector<Delivery> deliveries) = 0;
  /// To be called before the broker is asked for the state of the stream; StreamOpened follows if
  /// the broker answers. Messages acknowledged from now on may be missing from that answer. Never
  /// blocks.
  virtual void opening() {}
};

}  // namespace millrace
