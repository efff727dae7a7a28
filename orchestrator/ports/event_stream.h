// What the broker hands in of the event stream: DeliverySink is the port that it calls.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cloudevents/encoded_event.h"
#include "cloudevents/nats_binding.h"
#include "model/cursor.h"

namespace millrace {

/// An event from the stream.
struct EventInput {
  std::string space;  ///< name of the namespace, from the subject
  uint64_t sequence = 0;
  TimePoint stamped;  ///< when the broker took it: what decides between it and a timeout
  bool more = false;  ///< the stream held more behind it: no timeout may overtake those
  EncodedEvent event;
};

/// A message of the event stream that is no valid event; it goes to the dead letters.
struct UnreadableInput {
  uint64_t sequence = 0;
  TimePoint stamped;
  bool more = false;  ///< as in EventInput
  Error reason;
  NatsMessage message;  ///< as received
};

/// What the broker no longer has of the event stream, though nobody told us.
struct BrokerLoss {
  enum class Kind {
    kDropped,  ///< messages were gone before they were read: by the stream's limits, or by hand
    kTail,     ///< the newest ones, which had been applied, are gone; what comes is in their places
    kStream,   ///< the stream was made anew; it is read from its first message
  };
  Kind kind{};
  /// The sequences that are concerned; of kStream the last one that was read, twice.
  uint64_t first = 0;
  uint64_t last = 0;

  bool operator==(const BrokerLoss&) const = default;
};

/// A connection to the event stream is made, or made again; what follows comes from it.
struct StreamOpened {
  Cursor position;              ///< what follows comes behind it; it may be before the last one
  uint64_t first_sequence = 0;  ///< the oldest message that the stream still has
  uint64_t last_sequence = 0;   ///< the newest
  /// What the stream took behind this sequence before, as far as is known, it no longer has.
  uint64_t intact_to = std::numeric_limits<uint64_t>::max();
};
/// Nothing more waits in the stream: it was empty behind the cursor when the broker was asked.
struct CaughtUp {};
/// The connection is gone; StreamOpened follows when it is back.
struct StreamLost {};

/// What comes out of the event stream, in its order.
using Delivery = std::variant<StreamOpened, CaughtUp, StreamLost, EventInput, UnreadableInput>;

class DeliverySink {
 public:
  virtual ~DeliverySink() = default;
  /// Blocks while too much is waiting: that is how pulling stops. False: closed, deliver no more.
  virtual bool deliver(std::vector<Delivery> deliveries) = 0;
  /// The state of the stream is about to be asked for, and StreamOpened follows if there is an
  /// answer: what the broker acknowledges from now on that answer need not have. Never blocks.
  virtual void opening() {}
};

}  // namespace millrace
