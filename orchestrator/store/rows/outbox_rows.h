// Outbox rows: the messages that wait for the broker's acknowledgement, and the acked messages that
// are stored until the broker has synced. Tables `outbox` and `sent`. Functions that read take any
// View, functions that write the Transaction. A damaged row gives an error that names it
// (damage.h); walks with `damaged` skip such rows. All decoders fail with `store.corrupt` and name
// the kind of record.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

// Messages, by number.

/// A message of the outbox.
struct OutboxRecord {
  /// The instance that generated the event, if any. Messages of one instance are sent in order.
  std::optional<InstanceId> instance;
  NatsMessage message;
  bool sealed = false;  ///< whether the row is sealed; the broker gets the message unsealed
};
std::string encode(const OutboxRecord& record);
Result<OutboxRecord> decode_outbox(std::string_view bytes);

void write_outbox(Transaction& tx, uint64_t number, const OutboxRecord& record);
void erase_outbox(Transaction& tx, uint64_t number);
Result<std::optional<OutboxRecord>> read_outbox(const View& view, uint64_t number);
/// Visits the messages from number `from` on, until `see` returns false. decode_outbox() decodes
/// `row`.
Status each_outbox(const View& view, uint64_t from,
                   const std::function<Result<bool>(uint64_t number, std::string_view row)>& see,
                   const OnDamage& damaged = nullptr);
/// Decodes a row of each_outbox().
Result<OutboxRecord> decode_outbox(const View& view, uint64_t number, std::string_view row);

// Sent: which messages of the outbox the broker has acknowledged, one row for each batch that
// recorded acknowledgements.

/// The acked messages that one batch recorded. Acked messages stay in the outbox until the broker
/// has synced.
struct SentRecord {
  struct Message {
    uint64_t number = 0;    ///< the message's number in the outbox
    uint64_t sequence = 0;  ///< the message's sequence in the event stream
    uint64_t bytes = 0;     ///< approximate size
  };
  int64_t stream_created = 0;  ///< identifies the event stream, as in Cursor
  TimePoint at;
  std::vector<Message> messages;
};
std::string encode(const SentRecord& record);
Result<SentRecord> decode_sent(std::string_view bytes);

void write_sent(Transaction& tx, uint64_t number, const SentRecord& record);
void erase_sent(Transaction& tx, uint64_t number);
Status each_sent(const View& view,
                 const std::function<void(uint64_t number, SentRecord record)>& see,
                 const OnDamage& damaged = nullptr);

}  // namespace millrace
