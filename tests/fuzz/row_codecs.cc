#include "tests/fuzz/row_codecs.h"

#include <string>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/disk/seal.h"
#include "orchestrator/store/rows/answer_rows.h"
#include "orchestrator/store/rows/archive_rows.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/crash_row.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/left_consumer_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/node_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/pending_input_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/rate_rows.h"
#include "orchestrator/store/rows/replay_rows.h"
#include "orchestrator/store/rows/source_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/value_piece_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/fuzz/properties.h"

namespace millrace::fuzz {
namespace {

/// Whether the bytes decode. `encoded` writes a record.
template <class T, class Encode>
bool decodes_again(Result<T> (*decoded)(std::string_view), const Encode& encoded,
                   std::string_view value) {
  const Result<T> record = decoded(value);
  if (!record) {
    check_shown_error(record.error());
    return false;
  }
  const std::string bytes = encoded(*record);
  const Result<T> again = decoded(bytes);
  CHECK(again, "a record that was written does not decode: {}", again.error().message);
  CHECK(encoded(*again) == bytes, "a record that was written is another one: {}",
        to_hex(std::string_view(bytes).substr(0, 200)));
  return true;
}

/// As decodes_again(), for records whose encoder has the name `encode`.
template <class T>
bool decodes_again(Result<T> (*decoded)(std::string_view), std::string_view value) {
  return decodes_again(
      decoded, [](const T& record) { return encode(record); }, value);
}

/// Whether the bytes decode, for records without an encoder of their own.
template <class T>
bool decodes_once(Result<T> (*decoded)(std::string_view), std::string_view value) {
  const Result<T> record = decoded(value);
  if (!record) check_shown_error(record.error());
  return record.has_value();
}

/// The time at which a start is listed is also in the key of a row `pending-start-at/`: it must be
/// one that such a key can have.
bool decodes_as_pending_start(std::string_view value) {
  if (!decodes_again<PendingStart>(decode_pending_start, value)) return false;
  const PendingStart start = *decode_pending_start(value);
  CHECK(start.how.is_null() || start.how.is_object(), "no revision can be added to {}",
        start.how.text());
  const auto listed = listed_start(listed_start_key(
      {.listed = start.listed,
       .place = {.ns = NamespaceNumber(1), .workflow = WorkflowNumber(1), .key = {}}}));
  CHECK(listed && listed->listed == start.listed, "no key can have the time {} ms",
        to_millis(start.listed));
  return true;
}

/// A row of a variable has its value, or the group of the pieces of the value.
bool decodes_as_variable(std::string_view value) {
  const auto encoded = [&](const VariableHead& head) {
    if (head.pieces) return encode(head);
    return encode(Variable{.content_type = head.content_type,
                           .bytes = std::string(value.substr(value.size() - head.size))});
  };
  return decodes_again(decode_variable_head, encoded, value);
}

/// As decodes_as_pending_start(), for the keys of the rows `start-rate-end/`.
bool decodes_as_start_rate(std::string_view value) {
  if (!decodes_again<StartRateRecord>(decode_start_rate, value)) return false;
  const StartRateRecord record = *decode_start_rate(value);
  const auto end = start_rate_end(start_rate_end_key({.listed = record.listed, .place = {}}));
  CHECK(end && end->listed == record.listed, "no key can have the time {} ms",
        to_millis(record.listed));
  return true;
}

/// The rows of `meta` with the starts that are put off, and with those that are counted.
std::optional<bool> decodes_as_start_row(std::string_view key, std::string_view value) {
  if (key.starts_with(kPendingStartKey)) return decodes_as_pending_start(value);
  if (key.starts_with(kPendingStartsKey))
    return decodes_once<uint64_t>(decode_pending_starts, value);
  if (key.starts_with(kPendingInputKey))
    return decodes_again<PendingInput>(decode_pending_input, value);
  if (key.starts_with(kStartRateKey)) return decodes_as_start_rate(value);
  if (key.starts_with(kStartRatesKey)) return decodes_once<uint64_t>(decode_start_rates, value);
  return std::nullopt;
}

std::optional<bool> decodes_as_meta(std::string_view key, std::string_view value) {
  if (key == "cursor") return decodes_again<Cursor>(decode_cursor, value);
  if (key == "index") return decodes_again<IndexBuild>(decode_index_build, value);
  if (key == kLogKey || key == kLoadingKey)
    return decodes_again<LogPosition>(decode_log_position, value);
  if (key == "store") return decodes_once<StoreIdentity>(decode_store_identity, value);
  if (key.starts_with("archive/")) return decodes_once<ArchivePosition>(decode_archive, value);
  if (key.starts_with("stream/")) return decodes_once<int64_t>(decode_stream, value);
  if (key.starts_with("rate/")) return decodes_again<RateUse>(decode_rate_use, value);
  if (key.starts_with("purge/")) return decodes_again<PurgeRecord>(decode_purge, value);
  if (key.starts_with("given-answers/"))
    return decodes_again<std::vector<GivenAnswer>>(decode_answers, encode_answers, value);
  if (key.starts_with("node/")) return decodes_again<NodeRecord>(decode_node, value);
  if (key.starts_with("replay/")) return decodes_again<ReplayRecord>(decode_replay, value);
  if (key.starts_with("source/")) return decodes_again<SourceRecord>(decode_source, value);
  if (key.starts_with("origin/")) return decodes_again<OriginRecord>(decode_origin, value);
  if (key.starts_with("left-consumer/"))
    return decodes_again<std::string>(decode_consumer_name, encode_consumer_name, value);
  if (key == kCrashRowKey) return decodes_again<NotedInput>(decode_noted_input, value);
  return decodes_as_start_row(key, value);
}

std::optional<bool> decodes_as_part(std::string_view key, std::string_view value) {
  constexpr size_t kPartAt = 4 + 16;  // namespace, id, part
  if (key.size() <= kPartAt) return std::nullopt;
  switch (static_cast<Part>(key[kPartAt])) {
    case Part::kHead:
      return decodes_again<Instance>(decode_head, encode_head, value);
    case Part::kSlots:
      return decodes_again<std::vector<std::optional<LazyJson>>>(decode_slots, encode_slots, value);
    case Part::kCall:
      return decodes_again<Call>(decode_call, encode_call, value);
    case Part::kCompensation:
      return decodes_again<Compensation>(decode_compensation, encode_compensation, value);
    default:
      return std::nullopt;
  }
}

std::optional<bool> decodes_as_group(std::string_view key, std::string_view value) {
  if (key.empty()) return std::nullopt;
  switch (static_cast<GroupRow>(key.front())) {
    case GroupRow::kCounts:
      return decodes_again<std::vector<uint32_t>>(decode_counts, encode_counts, value);
    case GroupRow::kEvent:
      return decodes_again<GroupedRecord>(decode_grouped, value);
    default:
      return std::nullopt;
  }
}

std::optional<bool> decodes_as_queue(std::string_view key, std::string_view value) {
  if (key.empty()) return std::nullopt;
  switch (static_cast<QueueRow>(key.front())) {
    case QueueRow::kCounts:
    case QueueRow::kThrottleCounts:
      return decodes_again<SlotCounts>(decode_slot_counts, value);
    case QueueRow::kHolder:
    case QueueRow::kWaiting:
    case QueueRow::kThrottled:
      return decodes_again<SlotPlace>(decode_slot_place, value);
    case QueueRow::kCallCounts:
    case QueueRow::kCallThrottleCounts:
      return decodes_again<CallSlotCounts>(decode_call_slot_counts, value);
    case QueueRow::kCallHolder:
    case QueueRow::kCallWaiting:
    case QueueRow::kCallPaused:
    case QueueRow::kCallThrottled:
    case QueueRow::kCallThrottlePaused:
      return decodes_again<CallPlaceRecord>(decode_call_place, value);
    default:
      return std::nullopt;
  }
}

std::optional<bool> decodes_as_effects(std::string_view key, std::string_view value) {
  Result<EffectRow> row = decode_effect_key(key);
  if (!row) return std::nullopt;
  if (const Status status = decode_effects(value, *row); !status) {
    check_shown_error(status.error());
    return false;
  }
  const std::string bytes = encode_effects(*row);
  Result<EffectRow> again = decode_effect_key(key);
  CHECK(decode_effects(bytes, *again), "effects that were written do not decode");
  CHECK(again->effects == row->effects, "effects that were written are other ones");
  return true;
}

}  // namespace

std::optional<bool> decodes_as_row(Table table, std::string_view key, std::string_view value) {
  if (Seal::is_sealed(value)) return std::nullopt;
  switch (table) {
    case Table::kMeta:
      return decodes_as_meta(key, value);
    case Table::kNamespaces:
      return decodes_again<NamespaceRecord>(decode_namespace, value);
    case Table::kWorkflows:
      return decodes_again<WorkflowRecord>(decode_workflow, value);
    case Table::kDefinitions:
      return decodes_again<DefinitionRecord>(decode_definition, value);
    case Table::kLive:
    case Table::kEnded:
      return decodes_as_part(key, value);
    case Table::kHistory:
      return decodes_again<HistoryRow>(decode_history, value);
    case Table::kGroups:
      return decodes_as_group(key, value);
    case Table::kDelayed:
      return decodes_again<DelayedRecord>(decode_delayed, value);
    case Table::kOutbox:
      return decodes_again<OutboxRecord>(decode_outbox, value);
    case Table::kSent:
      return decodes_again<SentRecord>(decode_sent, value);
    case Table::kKeptEvents:
      return decodes_again<KeptEventRecord>(decode_kept_event, value);
    case Table::kInbox:
      return decodes_again<InboxRecord>(decode_inbox, value);
    case Table::kFanout:
      if (!is_late_match_key(key)) return std::nullopt;
      return decodes_again<LateMatchRecord>(decode_late_match, value);
    case Table::kIdempotency:
      return decodes_again<IdempotencyRecord>(decode_idempotency, value);
    case Table::kVariables:
      if (is_value_piece(key)) return decodes_once<std::string>(decode_value_piece, value);
      return decodes_as_variable(value);
    case Table::kSchedules:
      return decodes_again<ScheduleRecord>(decode_schedule, value);
    case Table::kTasks:
      return decodes_again<StartTask>(decode_task, value);
    case Table::kWebhooks:
      return decodes_again<WebhookRecord>(decode_webhook, value);
    case Table::kCounts:
      return decodes_again<uint64_t>(decode_count, encode_count, value);
    case Table::kUsage:
      return decodes_again<Usage>(decode_usage, value);
    case Table::kEffects:
      return decodes_as_effects(key, value);
    case Table::kQueues:
      return decodes_as_queue(key, value);
    case Table::kDedupe:
    case Table::kSecrets:
    case Table::kDeadLetters:
    case Table::kByStatus:
      return std::nullopt;
  }
  return std::nullopt;
}

void check_row_key(Table table, std::string_view key) {
  if (table == Table::kMeta) {
    const auto listed = listed_start(key);
    CHECK(!listed || listed_start_key(*listed) == key, "a key of a listed start has two forms");
    const auto end = start_rate_end(key);
    CHECK(!end || start_rate_end_key(*end) == key, "a key of the end of a rate has two forms");
  }
  if (table == Table::kByStatus) {
    const Result<IndexedInstance> one = decode_by_status_key(key);
    if (!one) return check_shown_error(one.error());
    CHECK(by_status_key(one->place, one->id) == key, "a key of by_status has two forms");
  }
  if (table == Table::kCounts) {
    const Result<CountPlace> place = decode_count_key(key);
    if (!place) return check_shown_error(place.error());
    CHECK(count_key(*place) == key, "a key of counts has two forms");
  }
}

}  // namespace millrace::fuzz
