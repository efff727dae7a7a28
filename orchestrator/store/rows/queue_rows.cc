#include "orchestrator/store/rows/queue_rows.h"

#include <limits>
#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr int64_t kHighestPriority = std::numeric_limits<int32_t>::max();

Writer begin_key(QueueRow kind, WorkflowNumber workflow) {
  Writer key;
  key.u8(static_cast<uint8_t>(kind));
  key.u32(static_cast<uint32_t>(workflow));
  return key;
}

QueueRow counts_kind(const SlotKey& key) {
  return key.is_throttle ? QueueRow::kThrottleCounts : QueueRow::kCounts;
}

bool is_waiting(QueueRow kind) {
  return kind == QueueRow::kWaiting || kind == QueueRow::kThrottled;
}

/// The prefix of the rows of a key that are of the kind, or the key of its row of counts.
std::string places_prefix(QueueRow kind, const SlotKey& key) {
  Writer writer = begin_key(kind, key.workflow);
  writer.id(key.key);
  return writer.take();
}

tl::unexpected<Error> wrong_key(std::string_view key) {
  return tl::unexpected(damaged_row(Table::kQueues, key,
                                    "its key is not that of a slot, a start that waits or counts"));
}

/// The place of a row of an instance.
Result<SlotPlace> place_of(const View& view, std::string_view key, std::string_view value) {
  const auto parsed = parse_queue_key(key);
  if (!parsed) return wrong_key(key);
  SlotPlace place = TRY(rows::decode(view, Table::kQueues, key, value, decode_slot_place));
  place.priority = parsed->priority;
  place.number = parsed->number;
  return place;
}

/// Adds the workflows that have rows of the kind, ascending.
Status add_workflows(const View& view, QueueRow kind, std::vector<WorkflowNumber>& found) {
  const std::string prefix(1, static_cast<char>(kind));
  std::string from;
  while (true) {
    const size_t before = found.size();
    TRY(walk(view, Table::kQueues, prefix, from, [&](std::string_view key, auto) -> Result<bool> {
      found.push_back(WorkflowNumber(Reader(key.substr(prefix.size())).u32()));
      return false;
    }));
    if (found.size() == before) return {};
    const auto next = static_cast<uint32_t>(found.back());
    if (next == std::numeric_limits<uint32_t>::max()) return {};
    from = begin_key(kind, WorkflowNumber(next + 1)).take();
  }
}

}  // namespace

uint32_t rank_of_priority(int32_t priority) {
  return static_cast<uint32_t>(kHighestPriority - int64_t{priority});
}

int32_t priority_of_rank(uint32_t rank) {
  return static_cast<int32_t>(kHighestPriority - int64_t{rank});
}

SlotKey slot_key_of(WorkflowNumber workflow, std::string_view key) {
  return {.workflow = workflow, .key = fingerprint({key})};
}

SlotKey throttle_key_of(WorkflowNumber workflow, std::string_view key) {
  return {.is_throttle = true, .workflow = workflow, .key = fingerprint({key})};
}

QueueRow waiting_kind(const SlotKey& key) {
  return key.is_throttle ? QueueRow::kThrottled : QueueRow::kWaiting;
}

Slot waiting_slot(const Throttled& throttled) {
  return {.key = throttled.key,
          .priority = throttled.priority,
          .number = throttled.number,
          .is_queued = true};
}

std::string encode(const SlotCounts& counts) {
  Writer writer = begin_record();
  writer.bytes(counts.key);
  writer.varint(counts.held);
  writer.varint(counts.queued);
  return writer.take();
}

Result<SlotCounts> decode_slot_counts(std::string_view bytes) {
  Reader reader = open_record(bytes);
  SlotCounts counts{.key = get_string(reader)};
  counts.held = get_number(reader);
  counts.queued = get_number(reader);
  if (counts.key.size() > kMostSlotKeyBytes || counts.empty()) reader.fail();
  return end_record(reader, std::move(counts), "slot counts");
}

std::string encode(const SlotPlace& place) {
  Writer writer = begin_record();
  writer.id(place.instance.bytes);
  put_time(writer, place.since);
  return writer.take();
}

Result<SlotPlace> decode_slot_place(std::string_view bytes) {
  Reader reader = open_record(bytes);
  SlotPlace place;
  place.instance.bytes = reader.id();
  place.since = get_time(reader);
  return end_record(reader, place, "slot");
}

std::string slot_counts_key(const SlotKey& key) { return places_prefix(counts_kind(key), key); }

std::string place_key(const SlotKey& key, const Slot& slot) {
  Writer writer(places_prefix(slot.is_queued ? waiting_kind(key) : QueueRow::kHolder, key));
  if (slot.is_queued) writer.u32(rank_of_priority(slot.priority));
  writer.u64(slot.number);
  return writer.take();
}

std::optional<QueueRowKey> parse_queue_key(std::string_view key) {
  Reader reader(key);
  const uint8_t kind = reader.u8();
  QueueRowKey parsed{.kind = static_cast<QueueRow>(kind)};
  parsed.key.workflow = WorkflowNumber(reader.u32());
  const bool is_known = kind >= static_cast<uint8_t>(QueueRow::kCounts) &&
                        kind <= static_cast<uint8_t>(QueueRow::kThrottled);
  if (!is_known) return std::nullopt;
  parsed.key.is_throttle = parsed.kind >= QueueRow::kThrottleCounts;
  parsed.key.key = reader.id();
  if (is_waiting(parsed.kind)) parsed.priority = priority_of_rank(reader.u32());
  if (is_waiting(parsed.kind) || parsed.kind == QueueRow::kHolder) {
    parsed.number = reader.u64();
    if (parsed.number == 0 || parsed.number > kMostNumber) return std::nullopt;
  }
  if (!reader.done()) return std::nullopt;
  return parsed;
}

Result<SlotCounts> read_slot_counts(const View& view, const SlotKey& key) {
  auto counts = TRY(read(view, Table::kQueues, slot_counts_key(key), decode_slot_counts));
  return counts ? *std::move(counts) : SlotCounts();
}

void write_slot_counts(Transaction& tx, const SlotKey& key, const SlotCounts& counts) {
  const std::string at = slot_counts_key(key);
  if (counts.empty()) {
    tx.erase(Table::kQueues, at);
  } else {
    rows::put(tx, Table::kQueues, at, encode(counts), counts.sealed);
  }
}

Status each_slot_counts(const View& view, WorkflowNumber workflow,
                        const std::optional<SlotKey>& behind,
                        const std::function<bool(const SlotKey&, const SlotCounts&)>& see,
                        const OnDamage& damaged) {
  bool goes_on = true;
  const auto visit = [&](std::string_view key, std::string_view value) -> Result<bool> {
    const auto parsed = parse_queue_key(key);
    if (!parsed) return wrong_key(key);
    goes_on =
        see(parsed->key, TRY(rows::decode(view, Table::kQueues, key, value, decode_slot_counts)));
    return goes_on;
  };
  for (const QueueRow kind : {QueueRow::kCounts, QueueRow::kThrottleCounts}) {
    const bool begins = behind && counts_kind(*behind) == kind;
    if (behind && behind->is_throttle && !begins) continue;
    std::string from;
    if (begins) from = slot_counts_key({behind->is_throttle, workflow, behind->key}) + '\0';
    TRY(walk(view, Table::kQueues, begin_key(kind, workflow).take(), from, visit, damaged));
    if (!goes_on) break;
  }
  return {};
}

void write_slot_place(Transaction& tx, const SlotKey& key, const Slot& slot,
                      const SlotPlace& place) {
  tx.put(Table::kQueues, place_key(key, slot), encode(place));
}

void erase_slot_place(Transaction& tx, const SlotKey& key, const Slot& slot) {
  tx.erase(Table::kQueues, place_key(key, slot));
}

bool has_slot_place(const View& view, const SlotKey& key, const Slot& slot) {
  return view.get(Table::kQueues, place_key(key, slot)).has_value();
}

Result<std::optional<SlotPlace>> read_first_place(const View& view, QueueRow kind,
                                                  const SlotKey& key, const OnDamage& damaged) {
  std::optional<SlotPlace> first;
  TRY(each_slot_place(
      view, kind, key,
      [&](const SlotPlace& place) {
        first = place;
        return false;
      },
      damaged));
  return first;
}

Status each_slot_place(const View& view, QueueRow kind, const SlotKey& key,
                       const std::function<bool(const SlotPlace&)>& see, const OnDamage& damaged) {
  return walk(
      view, Table::kQueues, places_prefix(kind, key), {},
      [&](std::string_view at, std::string_view value) -> Result<bool> {
        return see(TRY(place_of(view, at, value)));
      },
      damaged);
}

Status each_slot_holder(const View& view, const SlotKey& key, uint64_t after,
                        const std::function<bool(const SlotPlace&)>& see, const OnDamage& damaged) {
  const std::string from = place_key(key, {.number = after, .is_queued = false}) + '\0';
  return walk(
      view, Table::kQueues, places_prefix(QueueRow::kHolder, key), from,
      [&](std::string_view at, std::string_view value) -> Result<bool> {
        return see(TRY(place_of(view, at, value)));
      },
      damaged);
}

Result<std::vector<WorkflowNumber>> workflows_with_slots(const View& view) {
  std::vector<WorkflowNumber> found;
  for (const QueueRow kind : {QueueRow::kCounts, QueueRow::kThrottleCounts}) {
    TRY(add_workflows(view, kind, found));
  }
  return found;
}

Result<bool> purge_queues(Transaction& tx, WorkflowNumber workflow, PurgeBudget& budget) {
  for (const QueueRow kind : {QueueRow::kCounts, QueueRow::kHolder, QueueRow::kWaiting,
                              QueueRow::kThrottleCounts, QueueRow::kThrottled}) {
    const std::string prefix = begin_key(kind, workflow).take();
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
