// Outbox rows: the messages that wait to be taken by the broker, and which of them it has
// acknowledged. Tables `outbox` and `sent`. Reading takes any View, writing the Transaction. A row
// that is damaged is an error that names it (damage.h); walks that are given `damaged` pass over
// such rows. All decoders fail with `store.corrupt`, naming the kind of record.
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

/// A message that waits to be taken by the broker.
struct OutboxRecord {
  std::optional<InstanceId> instance;  ///< whose event it is; those of one keep their order
  NatsMessage message;
  bool sealed = false;  ///< in the store; the broker gets it as it is
};
std::string encode(const OutboxRecord& record);
Result<OutboxRecord> decode_outbox(std::string_view bytes);

void write_outbox(Transaction& tx, uint64_t number, const OutboxRecord& record);
void erase_outbox(Transaction& tx, uint64_t number);
Result<std::optional<OutboxRecord>> read_outbox(const View& view, uint64_t number);
/// Messages from `from` on, until `see` returns false; `row` is for decode_outbox.
Status each_outbox(const View& view, uint64_t from,
                   const std::function<Result<bool>(uint64_t number, std::string_view row)>& see,
                   const OnDamage& damaged = nullptr);
/// The message of a row that each_outbox() has shown.
Result<OutboxRecord> decode_outbox(const View& view, uint64_t number, std::string_view row);

// Sent: which messages of the outbox the broker has acknowledged, a row for each batch that took
// note of some.

/// Messages that the broker has acknowledged, all of which one batch took note of. They are kept in
/// the outbox for a while.
struct SentRecord {
  struct Message {
    uint64_t number = 0;    ///< in the outbox
    uint64_t sequence = 0;  ///< in the event stream
    uint64_t bytes = 0;     ///< how large it is, roughly
  };
  int64_t stream_created = 0;  ///< which event stream; as in Cursor
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
