#include "orchestrator/store/rows/call_slot_rows.h"

#include <limits>
#include <utility>
#include <variant>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr QueueRow kCallPlaces[] = {QueueRow::kCallHolder, QueueRow::kCallWaiting,
                                    QueueRow::kCallPaused};
constexpr QueueRow kCallCountKinds[] = {QueueRow::kCallCounts, QueueRow::kCallThrottleCounts};

/// Since version 2, which only a row of a throttle has, a row of a task has `period` and `until`.
constexpr uint8_t kCallPlaceVersion = 2;
constexpr uint8_t kCallPlaceVersionOfSlots = 1;

QueueRow counts_kind(const CallSlotKey& key) {
  return key.is_throttle ? QueueRow::kCallThrottleCounts : QueueRow::kCallCounts;
}

bool is_counts(QueueRow kind) {
  return kind == QueueRow::kCallCounts || kind == QueueRow::kCallThrottleCounts;
}

/// Whether the rows of the kind are those of tasks that wait, in the order of their priority.
bool has_rank(QueueRow kind) {
  return kind == QueueRow::kCallWaiting || kind == QueueRow::kCallThrottled;
}

Writer begin_call_key(QueueRow kind, NamespaceNumber ns) {
  Writer key;
  key.u8(static_cast<uint8_t>(kind));
  key.u32(static_cast<uint32_t>(ns));
  return key;
}

/// The prefix of the rows of a key that are of the kind, or the key of its row of counts.
std::string call_places_prefix(QueueRow kind, const CallSlotKey& key) {
  Writer writer = begin_call_key(kind, key.ns);
  writer.id(key.key);
  return writer.take();
}

tl::unexpected<Error> wrong_call_key(std::string_view key) {
  return tl::unexpected(damaged_row(
      Table::kQueues, key, "its key is not that of a call with a slot, one that waits or counts"));
}

/// Adds the namespaces that have rows of counts of the kind, ascending.
Status add_namespaces(const View& view, QueueRow kind, std::vector<NamespaceNumber>& found) {
  const std::string prefix(1, static_cast<char>(kind));
  std::string from;
  while (true) {
    const size_t before = found.size();
    TRY(walk(view, Table::kQueues, prefix, from, [&](std::string_view key, auto) -> Result<bool> {
      found.push_back(NamespaceNumber(Reader(key.substr(prefix.size())).u32()));
      return false;
    }));
    if (found.size() == before) return {};
    const auto last = static_cast<uint32_t>(found.back());
    if (last == std::numeric_limits<uint32_t>::max()) return {};
    from = begin_call_key(kind, NamespaceNumber(last + 1)).take();
  }
}

Result<PlacedCall> placed_call_of(const View& view, std::string_view key, std::string_view value) {
  const auto parsed = parse_call_row_key(key);
  if (!parsed) return wrong_call_key(key);
  return PlacedCall{
      .place = parsed->place,
      .record = TRY(rows::decode(view, Table::kQueues, key, value, decode_call_place))};
}

}  // namespace

SlotService slot_service_of(const StartTask& task) {
  if (const auto* const container = std::get_if<Container>(&task.runs)) {
    return {.kind = SlotService::Kind::kContainer, .name = container->image};
  }
  const auto& service = std::get<NamedService>(task.runs);
  const auto kind =
      service.global ? SlotService::Kind::kGlobalService : SlotService::Kind::kService;
  return {.kind = kind, .name = service.name};
}

CallSlotKey call_slot_key_of(NamespaceNumber ns, const SlotService& service, std::string_view key) {
  const char kind = static_cast<char>(service.kind);
  return {.ns = ns, .key = fingerprint({{&kind, 1}, service.name, key})};
}

CallSlotKey call_slot_key_of(const StartTask& task) {
  return call_slot_key_of(task.ns, slot_service_of(task), task.slot->key);
}

CallSlotKey call_throttle_key_of(NamespaceNumber ns, const SlotService& service,
                                 std::string_view key) {
  CallSlotKey found = call_slot_key_of(ns, service, key);
  found.is_throttle = true;
  return found;
}

CallSlotKey call_throttle_key_of(const StartTask& task) {
  return call_throttle_key_of(task.ns, slot_service_of(task), task.throttle->key);
}

QueueRow waiting_kind(const CallSlotKey& key) {
  return key.is_throttle ? QueueRow::kCallThrottled : QueueRow::kCallWaiting;
}

QueueRow paused_kind(const CallSlotKey& key) {
  return key.is_throttle ? QueueRow::kCallThrottlePaused : QueueRow::kCallPaused;
}

StartLimit rate_of(const CallPlaceRecord& record) {
  StartLimit rate;
  rate.limit = record.limit;
  if (record.period) rate.period = *record.period;
  return rate;
}

std::string encode(const CallSlotCounts& counts) {
  Writer writer = begin_record();
  put_enum(writer, counts.service.kind);
  writer.bytes(counts.service.name);
  writer.bytes(counts.key);
  writer.varint(counts.limit);
  writer.varint(counts.held);
  writer.varint(counts.queued);
  writer.varint(counts.paused);
  return writer.take();
}

Result<CallSlotCounts> decode_call_slot_counts(std::string_view bytes) {
  Reader reader = open_record(bytes);
  CallSlotCounts counts;
  counts.service.kind = get_enum(reader, SlotService::Kind::kContainer);
  counts.service.name = get_string(reader);
  counts.key = get_string(reader);
  counts.limit = get_u32(reader);
  counts.held = get_number(reader);
  counts.queued = get_number(reader);
  counts.paused = get_number(reader);
  if (counts.key.size() > kMostSlotKeyBytes || counts.limit == 0 || counts.empty()) reader.fail();
  return end_record(reader, std::move(counts), "slot counts of calls");
}

std::string encode(const CallPlaceRecord& record) {
  Writer writer = begin_record(record.period ? kCallPlaceVersion : kCallPlaceVersionOfSlots);
  writer.id(record.task.bytes);
  put_time(writer, record.since);
  writer.varint(record.limit);
  if (!record.period) return writer.take();
  put_span_text(writer, *record.period);
  put_optional(writer, record.until, put_time);
  return writer.take();
}

Result<CallPlaceRecord> decode_call_place(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kCallPlaceVersion);
  CallPlaceRecord record;
  record.task.bytes = reader.id();
  record.since = get_time(reader);
  record.limit = get_u32(reader);
  if (version >= kCallPlaceVersion) {
    record.period = get_span_text(reader);
    record.until = get_optional(reader, get_time);
  }
  if (record.limit == 0) reader.fail();
  return end_record(reader, record, "slot of a call");
}

bool is_call_row(std::string_view key) {
  if (key.empty()) return false;
  const auto kind = static_cast<uint8_t>(key.front());
  return kind >= static_cast<uint8_t>(QueueRow::kCallCounts) &&
         kind <= static_cast<uint8_t>(QueueRow::kCallThrottlePaused);
}

std::string call_counts_key(const CallSlotKey& key) {
  return call_places_prefix(counts_kind(key), key);
}

std::string call_place_key(const CallSlotKey& key, const CallPlace& place) {
  Writer writer(call_places_prefix(place.kind, key));
  if (has_rank(place.kind)) writer.u32(rank_of_priority(place.priority));
  writer.u64(place.number);
  return writer.take();
}

std::optional<CallRowKey> parse_call_row_key(std::string_view key) {
  if (!is_call_row(key)) return std::nullopt;
  Reader reader(key);
  CallRowKey parsed{.kind = static_cast<QueueRow>(reader.u8())};
  parsed.key.is_throttle = parsed.kind >= QueueRow::kCallThrottleCounts;
  parsed.key.ns = NamespaceNumber(reader.u32());
  parsed.key.key = reader.id();
  if (!is_counts(parsed.kind)) {
    parsed.place.kind = parsed.kind;
    if (has_rank(parsed.kind)) parsed.place.priority = priority_of_rank(reader.u32());
    parsed.place.number = reader.u64();
    if (parsed.place.number == 0 || parsed.place.number > kMostNumber) return std::nullopt;
  }
  if (!reader.done()) return std::nullopt;
  return parsed;
}

Result<std::optional<CallSlotCounts>> read_call_counts(const View& view, const CallSlotKey& key) {
  return read(view, Table::kQueues, call_counts_key(key), decode_call_slot_counts);
}

void write_call_counts(Transaction& tx, const CallSlotKey& key, const CallSlotCounts& counts) {
  const std::string at = call_counts_key(key);
  if (counts.empty()) {
    tx.erase(Table::kQueues, at);
  } else {
    rows::put(tx, Table::kQueues, at, encode(counts), counts.sealed);
  }
}

Status each_call_counts(const View& view, NamespaceNumber ns,
                        const std::optional<CallSlotKey>& behind,
                        const std::function<bool(const CallSlotKey&, const CallSlotCounts&)>& see,
                        const OnDamage& damaged) {
  bool goes_on = true;
  const auto visit = [&](std::string_view key, std::string_view value) -> Result<bool> {
    const auto parsed = parse_call_row_key(key);
    if (!parsed) return wrong_call_key(key);
    goes_on = see(parsed->key,
                  TRY(rows::decode(view, Table::kQueues, key, value, decode_call_slot_counts)));
    return goes_on;
  };
  for (const QueueRow kind : kCallCountKinds) {
    const bool begins = behind && counts_kind(*behind) == kind;
    if (behind && behind->is_throttle && !begins) continue;
    std::string from;
    if (begins) from = call_counts_key({ns, behind->key, behind->is_throttle}) + '\0';
    TRY(walk(view, Table::kQueues, begin_call_key(kind, ns).take(), from, visit, damaged));
    if (!goes_on) break;
  }
  return {};
}

Result<std::vector<NamespaceNumber>> namespaces_with_call_slots(const View& view) {
  std::vector<NamespaceNumber> found;
  for (const QueueRow kind : kCallCountKinds) TRY(add_namespaces(view, kind, found));
  return found;
}

void write_call_place(Transaction& tx, const CallSlotKey& key, const CallPlace& place,
                      const CallPlaceRecord& record) {
  tx.put(Table::kQueues, call_place_key(key, place), encode(record));
}

void erase_call_place(Transaction& tx, const CallSlotKey& key, const CallPlace& place) {
  tx.erase(Table::kQueues, call_place_key(key, place));
}

Result<std::optional<CallPlaceRecord>> read_call_place(const View& view, const CallSlotKey& key,
                                                       const CallPlace& place) {
  return read(view, Table::kQueues, call_place_key(key, place), decode_call_place);
}

Result<std::optional<CallPlace>> find_call_place(const View& view, const StartTask& task) {
  const CallSlotKey key = call_slot_key_of(task);
  std::optional<CallPlace> found;
  for (const QueueRow kind : kCallPlaces) {
    const CallPlace place{
        .kind = kind, .priority = task.slot->priority, .number = task.slot->number};
    if (view.get(Table::kQueues, call_place_key(key, place))) {
      found = place;
      break;
    }
  }
  TRY(view.status());
  return found;
}

Result<std::optional<TimePoint>> read_slot_wait_end(const View& view, const StartTask& task,
                                                    const CallPlace& place) {
  const auto& timeout = task.slot->timeout;
  if (!timeout || place.kind != QueueRow::kCallWaiting) return std::optional<TimePoint>();
  const auto record = TRY(read_call_place(view, call_slot_key_of(task), place));
  if (!record) return std::optional<TimePoint>();
  return std::optional(timeout->after(record->since));
}

Result<std::optional<PlacedCall>> find_throttled_call(const View& view, const StartTask& task) {
  const CallSlotKey key = call_throttle_key_of(task);
  for (const QueueRow kind : {waiting_kind(key), paused_kind(key)}) {
    const CallPlace place{
        .kind = kind, .priority = task.throttle->priority, .number = task.throttle->number};
    auto record = TRY(read_call_place(view, key, place));
    if (record) return std::optional(PlacedCall{place, *std::move(record)});
  }
  return std::optional<PlacedCall>();
}

Status each_call_place(const View& view, QueueRow kind, const CallSlotKey& key,
                       const std::function<bool(const PlacedCall&)>& see, const OnDamage& damaged) {
  return walk(
      view, Table::kQueues, call_places_prefix(kind, key), {},
      [&](std::string_view at, std::string_view value) -> Result<bool> {
        return see(TRY(placed_call_of(view, at, value)));
      },
      damaged);
}

Status each_call_holder(const View& view, const CallSlotKey& key, uint64_t after,
                        const std::function<bool(const PlacedCall&)>& see,
                        const OnDamage& damaged) {
  constexpr QueueRow kKind = QueueRow::kCallHolder;
  const std::string from = call_place_key(key, {.kind = kKind, .number = after}) + '\0';
  return walk(
      view, Table::kQueues, call_places_prefix(kKind, key), from,
      [&](std::string_view at, std::string_view value) -> Result<bool> {
        return see(TRY(placed_call_of(view, at, value)));
      },
      damaged);
}

Result<std::optional<PlacedCall>> read_first_call(const View& view, QueueRow kind,
                                                  const CallSlotKey& key, const OnDamage& damaged) {
  std::optional<PlacedCall> first;
  TRY(each_call_place(
      view, kind, key,
      [&](const PlacedCall& one) {
        first = one;
        return false;
      },
      damaged));
  return first;
}

Result<bool> purge_call_slots(Transaction& tx, NamespaceNumber ns, PurgeBudget& budget) {
  for (const QueueRow kind :
       {QueueRow::kCallCounts, QueueRow::kCallHolder, QueueRow::kCallWaiting, QueueRow::kCallPaused,
        QueueRow::kCallThrottleCounts, QueueRow::kCallThrottled, QueueRow::kCallThrottlePaused}) {
    const std::string prefix = begin_call_key(kind, ns).take();
    while (true) {
      if (budget.is_spent()) return false;
      const size_t erased = TRY(erase_some(tx, Table::kQueues, prefix, budget.rows));
      budget.erase(erased);
      if (erased == 0) break;
    }
  }
  return true;
}

}  // namespace millrace
