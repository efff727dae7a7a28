// Records: what a row's bytes mean, one encode/decode pair a kind of row (docs/FORMATS.md has the
// grammar). Every record begins with its version; a reader refuses what it does not know. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "model/cursor.h"
#include "model/effect.h"
#include "model/history.h"
#include "model/instance.h"
#include "model/variable.h"

namespace millrace {

/// All decoders fail with `store.corrupt`, naming the kind of record. A member `sealed` is not in
/// the bytes: it says that they are sealed in their row.

struct NamespaceRecord {
  NamespaceNumber number{};
  TimePoint created_at;
  std::string settings;  ///< JSON; empty: none were given
};
std::string encode(const NamespaceRecord& record);
Result<NamespaceRecord> decode_namespace(std::string_view bytes);

/// One workflow of a namespace, whatever its revisions.
struct WorkflowRecord {
  WorkflowNumber number{};
  uint32_t latest = 0;  ///< revision that new starts take
  bool paused = false;
  /// The revision since which its eventsAnd start has the same groups; 0: since before that was
  /// noted. Groups of an earlier one are other groups.
  uint32_t groups_from = 0;
};
std::string encode(const WorkflowRecord& record);
Result<WorkflowRecord> decode_workflow(std::string_view bytes);

/// One revision: the text as it was given.
struct DefinitionRecord {
  TimePoint created_at;
  std::string text;
};
std::string encode(const DefinitionRecord& record);
Result<DefinitionRecord> decode_definition(std::string_view bytes);

/// The head row of an instance: all but its JSON, which stands in rows of its own beside it, as do
/// its calls: of those it tells the number.
std::string encode_head(const Instance& instance);
Result<Instance> decode_head(std::string_view bytes);

/// What a state has got so far (Instance::slots).
std::string encode_slots(const std::vector<std::optional<LazyJson>>& slots);
Result<std::vector<std::optional<LazyJson>>> decode_slots(std::string_view bytes);

/// One call of an instance.
std::string encode_call(const Call& call);
Result<Call> decode_call(std::string_view bytes);

/// A CloudEvent that is yet to be taken by a URL.
struct HookRecord {
  NamespaceNumber space{};
  std::string url;
  TimePoint at;          ///< when its next attempt is due
  uint32_t attempt = 1;  ///< which one that is
  std::string event;     ///< JSON format
  bool sealed = false;
};
std::string encode(const HookRecord& record);
Result<HookRecord> decode_hook(std::string_view bytes);

/// A task that has not ended.
std::string encode(const StartTask& task);
Result<StartTask> decode_task(std::string_view bytes);

/// An errand that waits for the next batch.
struct InboxRecord {
  Errand errand;
  uint64_t listen_from = 0;  ///< of a child that is to start
  bool sealed = false;
};
std::string encode(const InboxRecord& record);
Result<InboxRecord> decode_inbox(std::string_view bytes);

/// The history of one instance in one batch.
struct HistoryRow {
  NamespaceNumber space{};
  InstanceId instance;
  uint64_t previous = 0;  ///< number of its row before this one; 0: this is the first
  std::vector<HistoryRecord> records;
  /// The places of records, rising, whose data is the instance's input: it is not in the row, and
  /// missing when it is read.
  std::vector<size_t> with_input;
  bool sealed = false;
};
std::string encode(const HistoryRow& row);
Result<HistoryRow> decode_history(std::string_view bytes);

/// A message that waits to be taken by the broker.
struct OutboxRecord {
  std::optional<InstanceId> instance;  ///< whose event it is; those of one keep their order
  NatsMessage message;
  bool sealed = false;  ///< in the store; the broker gets it as it is
};
std::string encode(const OutboxRecord& record);
Result<OutboxRecord> decode_outbox(std::string_view bytes);

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

/// A generated event that is to be published later.
struct DelayedRecord {
  NamespaceNumber space{};
  InstanceId instance;  ///< whose event it is
  TimePoint at;
  std::string event;  ///< JSON format
  bool sealed = false;
};
std::string encode(const DelayedRecord& record);
Result<DelayedRecord> decode_delayed(std::string_view bytes);

/// Where the schedule of a workflow stands.
struct ScheduleRecord {
  TimePoint from;                                 ///< its next tick is the first behind this moment
  std::optional<TimePoint> last;                  ///< the last tick that came,
  std::optional<TimePoint> first = std::nullopt;  ///< and the first
};
std::string encode(const ScheduleRecord& record);
Result<ScheduleRecord> decode_schedule(std::string_view bytes);

/// What a purge of a deleted namespace, or of what was deleted in one, has to know (purge.h).
struct PurgeRecord {
  std::string space;          ///< the namespace's name
  std::string workflow = {};  ///< of kGroups: its id,
  uint64_t up_to = 0;         ///< and the number of the last event that is to go
};
std::string encode(const PurgeRecord& record);
Result<PurgeRecord> decode_purge(std::string_view bytes);

/// How many events wait in each entry of an eventsAnd group.
std::string encode_counts(const std::vector<uint32_t>& waiting);
Result<std::vector<uint32_t>> decode_counts(std::string_view bytes);

/// An event that waits in a group.
struct GroupedRecord {
  uint64_t position = 0;             ///< in the stream
  std::optional<TimePoint> expires;  ///< end of its lifespan
  std::string event;                 ///< JSON format
};
std::string encode(const GroupedRecord& record);
Result<GroupedRecord> decode_grouped(std::string_view bytes);

/// An event that is kept for instances which cannot listen yet.
struct RecentRecord {
  std::array<uint8_t, 16> known_as{};  ///< as in dedupe
  std::string event;                   ///< JSON format
};
std::string encode(const RecentRecord& record);
Result<RecentRecord> decode_recent(std::string_view bytes);

std::string encode(const Variable& variable);
Result<Variable> decode_variable(std::string_view bytes);

std::string encode(const Cursor& cursor);
Result<Cursor> decode_cursor(std::string_view bytes);

/// A start under an idempotency key.
struct IdempotencyRecord {
  InstanceId instance;
  std::array<uint8_t, 16> input{};  ///< fingerprint of the input's text
};
std::string encode(const IdempotencyRecord& record);
Result<IdempotencyRecord> decode_idempotency(std::string_view bytes);

}  // namespace millrace
