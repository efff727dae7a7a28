#include "orchestrator/store/rows/group_rows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// How many rows close_groups() counts for an event: its two rows, the counts of its group and its
/// dead letter.
constexpr size_t kRowsOfEvent = 4;

/// Since version 2 an event in a group has the number of its stream.
constexpr uint8_t kGroupedVersion = 2;

// Keys.

char first_byte(GroupRow kind) { return static_cast<char>(kind); }

std::string counts_key(WorkflowNumber workflow, const Fingerprint& group) {
  Writer key;
  key.u8(static_cast<uint8_t>(GroupRow::kCounts));
  key.u32(static_cast<uint32_t>(workflow));
  key.id(group);
  return key.take();
}

std::string queue_prefix(const GroupQueue& queue) {
  Writer key;
  key.u8(static_cast<uint8_t>(GroupRow::kEvent));
  key.u32(static_cast<uint32_t>(queue.workflow));
  key.id(queue.group);
  key.u8(static_cast<uint8_t>(queue.entry >> 8));
  key.u8(static_cast<uint8_t>(queue.entry));
  return key.take();
}

std::string queue_key(const GroupQueue& queue, uint64_t number) {
  return queue_prefix(queue) + key_of(number);
}

std::string number_key(uint64_t number) {
  Writer key;
  key.u8(static_cast<uint8_t>(GroupRow::kNumber));
  key.u64(number);
  return key.take();
}

/// The waiting event of a row of the kind GroupRow::kEvent.
Result<GroupedEvent> grouped_of(const View& view, std::string_view key, std::string_view value) {
  Reader reader(key);
  GroupedEvent event;
  reader.u8();
  event.queue.workflow = WorkflowNumber(reader.u32());
  event.queue.group = reader.id();
  const uint8_t high = reader.u8();
  event.queue.entry = static_cast<uint16_t>(high << 8 | reader.u8());
  event.number = reader.u64();
  if (!reader.done() || event.number == 0 || event.number > kMostNumber) {
    return tl::unexpected(damaged_row(Table::kGroups, key, "its key is not the key of an event"));
  }
  event.record = TRY(rows::decode(view, Table::kGroups, key, value, decode_grouped));
  return event;
}

}  // namespace

// The bytes of the rows.

std::string encode_counts(const std::vector<uint32_t>& waiting) {
  Writer writer = begin_record();
  writer.varint(waiting.size());
  for (const uint32_t count : waiting) writer.varint(count);
  return writer.take();
}

Result<std::vector<uint32_t>> decode_counts(std::string_view bytes) {
  Reader reader = open_record(bytes);
  std::vector<uint32_t> waiting;
  for (size_t left = reader.count(); left > 0; --left) waiting.push_back(get_u32(reader));
  return end_record(reader, std::move(waiting), "group");
}

std::string encode(const GroupedRecord& record) {
  Writer writer = begin_record(kGroupedVersion);
  writer.varint(record.position.sequence);
  put_optional(writer, record.expires, put_time);
  writer.bytes(record.event);
  writer.varint(record.position.stream);
  return writer.take();
}

Result<GroupedRecord> decode_grouped(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kGroupedVersion);
  GroupedRecord record;
  record.position.sequence = reader.varint();
  record.expires = get_optional(reader, get_time);
  record.event = get_string(reader);
  if (version >= 2) record.position.stream = get_u32(reader);
  return end_record(reader, std::move(record), "grouped event");
}

Result<Event> event_of(const GroupedEvent& event) {
  return decode_event(Table::kGroups, queue_key(event.queue, event.number), event.record.event);
}

// Groups.

Result<std::optional<std::vector<uint32_t>>> read_counts(const View& view, WorkflowNumber workflow,
                                                         const Fingerprint& group) {
  return read(view, Table::kGroups, counts_key(workflow, group), decode_counts);
}

Status each_group(const View& view, WorkflowNumber workflow,
                  const std::optional<Fingerprint>& behind,
                  const std::function<Result<bool>(const Fingerprint& group,
                                                   const std::vector<uint32_t>& waiting)>& see) {
  const std::string prefix = first_byte(GroupRow::kCounts) + workflow_prefix(workflow);
  // The first key after a key is that key with a zero byte appended.
  const std::string from = behind ? counts_key(workflow, *behind) + '\0' : std::string();
  return walk(view, Table::kGroups, prefix, from,
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                Reader reader(key.substr(prefix.size()));
                const Fingerprint group = reader.id();
                if (!reader.done()) {
                  return tl::unexpected(
                      damaged_row(Table::kGroups, key, "its key is not the key of a group"));
                }
                return see(group,
                           TRY(rows::decode(view, Table::kGroups, key, value, decode_counts)));
              });
}

void write_counts(Transaction& tx, WorkflowNumber workflow, const Fingerprint& group,
                  const std::vector<uint32_t>& waiting) {
  const std::string key = counts_key(workflow, group);
  if (std::all_of(waiting.begin(), waiting.end(), [](uint32_t count) { return count == 0; })) {
    tx.erase(Table::kGroups, key);
  } else {
    tx.put(Table::kGroups, key, encode_counts(waiting));
  }
}

Error damaged_counts(WorkflowNumber workflow, const Fingerprint& group, std::string_view what) {
  return damaged_row(Table::kGroups, counts_key(workflow, group), what);
}

Result<std::vector<uint32_t>> count_grouped(const View& view, WorkflowNumber workflow,
                                            const Fingerprint& group, size_t entries,
                                            const OnDamage& damaged) {
  Writer prefix;
  prefix.u8(static_cast<uint8_t>(GroupRow::kEvent));
  prefix.u32(static_cast<uint32_t>(workflow));
  prefix.id(group);
  std::vector<uint32_t> waiting(entries, 0);
  TRY(walk(
      view, Table::kGroups, prefix.view(), {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const GroupedEvent event = TRY(grouped_of(view, key, value));
        TRY(event_of(event));
        if (event.queue.entry >= entries) {
          return tl::unexpected(damaged_row(
              Table::kGroups, key,
              fmt::format("its entry does not exist: its workflow's start has {} events",
                          entries)));
        }
        ++waiting[event.queue.entry];
        return true;
      },
      damaged));
  return waiting;
}

// Events.

void write_grouped(Transaction& tx, const GroupedEvent& event) {
  std::string key = queue_key(event.queue, event.number);
  tx.put(Table::kGroups, number_key(event.number), key);
  tx.put(Table::kGroups, key, encode(event.record));
}

void erase_grouped(Transaction& tx, const GroupQueue& queue, uint64_t number) {
  tx.erase(Table::kGroups, queue_key(queue, number));
  tx.erase(Table::kGroups, number_key(number));
}

Result<std::optional<GroupedEvent>> read_grouped(const View& view, uint64_t number) {
  const auto key = view.get(Table::kGroups, number_key(number));
  if (!key) {
    TRY(view.status());
    return std::optional<GroupedEvent>();
  }
  const auto damaged = [&](std::string_view what) {
    return tl::unexpected(damaged_row(Table::kGroups, number_key(number), what));
  };
  if (key->empty() || key->size() > kMaxKeySize) return damaged("it does not hold a key");
  const std::string at(*key);
  const auto value = view.get(Table::kGroups, at);
  if (!value) return damaged("it names a row that does not exist");
  GroupedEvent event = TRY(grouped_of(view, at, *value));
  if (event.number != number) return damaged("it names the row of another event");
  return std::optional<GroupedEvent>(std::move(event));
}

Result<std::optional<DecodedGrouped>> read_first_grouped(const View& view, const GroupQueue& queue,
                                                         const OnDamage& damaged) {
  std::optional<DecodedGrouped> found;
  TRY(walk(
      view, Table::kGroups, queue_prefix(queue), {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        GroupedEvent row = TRY(grouped_of(view, key, value));
        Event event = TRY(event_of(row));
        found = DecodedGrouped{std::move(row), std::move(event)};
        return false;
      },
      damaged));
  return found;
}

Result<size_t> bytes_beside(const View& view, const GroupQueue& last, size_t entries) {
  size_t bytes = 0;
  for (size_t i = 0; i < entries; ++i) {
    if (i == last.entry) continue;
    const GroupQueue queue{last.workflow, last.group, static_cast<uint16_t>(i)};
    TRY(walk(view, Table::kGroups, queue_prefix(queue), {},
             [&](std::string_view /*key*/, std::string_view value) -> Result<bool> {
               bytes += value.size();
               return false;
             }));
  }
  return bytes;
}

Status each_grouped(const View& view, const std::function<void(const GroupedEvent&)>& see,
                    const OnDamage& damaged) {
  const std::string prefix(1, first_byte(GroupRow::kEvent));
  return walk(
      view, Table::kGroups, prefix, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        see(TRY(grouped_of(view, key, value)));
        return true;
      },
      damaged);
}

Status some_grouped(const View& view, WorkflowNumber workflow,
                    const std::function<bool(const GroupedEvent&)>& see, const OnDamage& damaged) {
  const std::string prefix = first_byte(GroupRow::kEvent) + workflow_prefix(workflow);
  return walk(
      view, Table::kGroups, prefix, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        return see(TRY(grouped_of(view, key, value)));
      },
      damaged);
}

Result<uint64_t> last_grouped(const View& view) {
  return last_number(view, Table::kGroups, std::string(1, first_byte(GroupRow::kNumber)));
}

Result<bool> close_groups(
    Transaction& tx, WorkflowNumber workflow, uint64_t up_to, std::string& at, PurgeBudget& budget,
    const std::function<Result<bool>(const GroupedEvent&, const Event& event)>& see,
    const OnDamage& damaged) {
  const std::string queues = first_byte(GroupRow::kEvent) + workflow_prefix(workflow);
  bool done = true;
  std::vector<std::pair<GroupedEvent, Event>> events;
  TRY(walk(
      tx, Table::kGroups, queues, at,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (budget.is_spent()) {
          done = false;
          at = key;
          return false;
        }
        budget.count(key.size() + value.size());
        GroupedEvent grouped = TRY(grouped_of(tx, key, value));
        if (grouped.number > up_to) return true;
        Event event = TRY(event_of(grouped));
        budget.erase(kRowsOfEvent);
        events.emplace_back(std::move(grouped), std::move(event));
        return true;
      },
      damaged));
  for (const auto& [grouped, event] : events) {
    if (!TRY(see(grouped, event))) continue;
    erase_grouped(tx, grouped.queue, grouped.number);
    tx.erase(Table::kGroups, counts_key(workflow, grouped.queue.group));
  }
  return done;
}

}  // namespace millrace
