// Checks that each generated event is in one row only: in `delayed` until it is due, then in
// `outbox`; and that a delayed event has a record of its generation, and fits that record.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "cloudevents/json_format.h"
#include "cloudevents/nats_binding.h"
#include "cloudevents/subject.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/record_detail.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"

namespace millrace {
namespace {

/// A part of the fingerprint of an id. Different ids may have the same part.
uint64_t short_fingerprint(std::string_view id) {
  const Fingerprint whole = fingerprint({id});
  uint64_t part = 0;
  std::memcpy(&part, whole.data(), sizeof part);
  return part;
}

}  // namespace

/// Notes the id of an event that the instance generated. Other ids of events need not be unique.
void Checker::note_event_id(const InstanceId& by, std::string_view id) {
  if (id.starts_with(to_string(by) + "-")) event_ids_.push_back(short_fingerprint(id));
}

/// Notes the row of a delayed event, for check_published().
void Checker::note_delayed(uint64_t number, std::string_view id) {
  delayed_.emplace(short_fingerprint(id), number);
}

/// Compares a delayed event that is still in `delayed` with the record of its generation.
void Checker::check_published(const HistoryRecord& record) {
  if (delayed_.empty()) return;
  const RecordDetail detail(record);
  const auto id = detail.text("id");
  const auto at = detail.text("at");
  if (!id || !at) return;
  const auto row = delayed_.find(short_fingerprint(*id));
  if (row == delayed_.end()) return;
  const std::string key = rows::key_of(row->second);
  const auto value = view_.get(Table::kDelayed, key);
  const auto stored =
      value ? rows::decode(view_, Table::kDelayed, key, *value, decode_delayed) : fail("", "");
  Result<Event> event = fail("", "");
  if (stored) event = decode_json_event(stored->event, kStoredEvents);
  if (!event || event->id != *id) return;
  delayed_.erase(row);
  const std::string generated = format_rfc3339(record.time);
  if (event->time != generated) {
    add(StoreFault::kRowValue, {Table::kDelayed, key},
        fmt::format("the event was generated at {}, but by the history of its instance at {}",
                    printable(event->time.value_or("an unknown time")), generated));
  }
  const auto type = detail.text("type");
  const std::string due = format_rfc3339(stored->at);
  if (due == *at && (!type || event->type == *type)) return;
  add(StoreFault::kRowValue, {Table::kDelayed, key},
      fmt::format("the event of type {} is due at {}, but the history of its instance has type {} "
                  "and {}",
                  printable(event->type), due, excerpt(type.value_or("")), excerpt(*at)));
}

/// The step in an id `<instance>-<step>-<n>` of a generated event; nullopt: the id has another form
/// or another instance.
std::optional<uint64_t> Checker::step_of_event(std::string_view id, const InstanceId& by) {
  const std::string prefix = to_string(by) + "-";
  if (!id.starts_with(prefix)) return std::nullopt;
  id.remove_prefix(prefix.size());
  const char* const end = id.data() + id.size();
  uint64_t step = 0;
  const auto [dash, wrong_step] = std::from_chars(id.data(), end, step);
  if (wrong_step != std::errc() || dash == end || *dash != '-') return std::nullopt;
  uint64_t number = 0;
  const auto [last, wrong_number] = std::from_chars(dash + 1, end, number);
  if (wrong_number != std::errc() || last != end) return std::nullopt;
  return step;
}

/// Checks the delayed events of which no history has a record.
void Checker::check_unrecorded_events() {
  std::vector<uint64_t> numbers;
  for (const auto& [part, number] : delayed_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  for (const uint64_t number : numbers) {
    if (!is_over()) check_unrecorded(number);
  }
}

/// Checks a delayed event without a record. A complete history has a record of each event that its
/// instance generated. An instance that the same event starts again after its deletion has the same
/// id: an event that was generated before its start is not its own.
void Checker::check_unrecorded(uint64_t number) {
  const std::string key = rows::key_of(number);
  const Place place{Table::kDelayed, key};
  const auto value = view_.get(Table::kDelayed, key);
  const auto stored =
      value ? rows::decode(view_, Table::kDelayed, key, *value, decode_delayed) : fail("", "");
  if (!stored) return;
  const InstanceId& id = stored->instance;
  const auto event =
      decode_json_event(stored->event, kStoredEvents);  // check_delayed() reports a damaged event
  const auto step = event ? step_of_event(event->id, id) : std::nullopt;
  if (!step) return;
  const auto generated = parse_rfc3339(event->time.value_or(""));
  Known by = find(Table::kLive, stored->ns, id);
  if (!by.exists) by = find(Table::kEnded, stored->ns, id);
  if (!by.head || !generated || *generated < by.head->started_at) return;
  if (has_whole_history(*by.head)) {
    add(StoreFault::kRowValue, place,
        fmt::format("the event has the id {}, but the history of instance {} has no record of it",
                    printable(event->id), to_string(id)));
  } else if (*step > by.head->step) {
    add(StoreFault::kRowValue, place,
        fmt::format("the event was generated in step {}, but instance {} has made {} steps", *step,
                    to_string(id), by.head->step));
  }
}

/// Whether all rows of the history can be read, from the record of the start on.
bool Checker::has_whole_history(const Instance& head) const {
  for (uint64_t number = head.last_history; number != 0;) {
    const std::string key = rows::key_of(number);
    const auto value = view_.get(Table::kHistory, key);
    const auto row =
        value ? rows::decode(view_, Table::kHistory, key, *value, decode_history) : fail("", "");
    if (!row || row->instance != head.id || row->previous >= number) return false;
    number = row->previous;
    if (number != 0 || row->records.empty()) continue;
    return row->records.front().kind == HistoryKind::kStarted;
  }
  return false;
}

/// The id of the event in a row of `delayed` or `outbox`; nullopt: the row has no event, or the
/// event does not decode.
std::optional<std::string> Checker::event_id_in(const Place& place, std::string_view value) const {
  Result<Event> event = fail("", "");
  if (place.table == Table::kDelayed) {
    const auto record = rows::decode(view_, place.table, place.key, value, decode_delayed);
    if (record) event = decode_json_event(record->event, kStoredEvents);
  } else {
    const auto record = rows::decode(view_, place.table, place.key, value, decode_outbox);
    const bool is_event = record && record->message.subject.starts_with(kEventSubjectPrefix);
    if (is_event) event = decode_nats(record->message, kStoredEvents);
  }
  return event ? std::optional(std::move(event->id)) : std::nullopt;
}

/// Finds ids that two rows have. Only if two fingerprints are equal, the rows are read again.
void Checker::check_event_ids() {
  std::sort(event_ids_.begin(), event_ids_.end());
  std::set<uint64_t> repeated;
  for (size_t i = 1; i < event_ids_.size(); ++i) {
    if (event_ids_[i] == event_ids_[i - 1]) repeated.insert(event_ids_[i]);
  }
  if (repeated.empty()) return;
  std::map<std::string, std::string> seen;  // the first row of each id with such a fingerprint
  for (const Table table : {Table::kDelayed, Table::kOutbox}) {
    view_.scan(table, {}, [&](std::string_view key, std::string_view value) {
      const Place place{table, key};
      const auto id = event_id_in(place, value);
      if (!id || !repeated.contains(short_fingerprint(*id))) return true;
      const std::string row = fmt::format("{}/{}", table_name(table), rows::number_of(key));
      const auto [first, is_new] = seen.emplace(*id, row);
      if (!is_new) {
        add(StoreFault::kNumberTwice, place,
            fmt::format("the event with the id {} is in the row {}, too", printable(*id),
                        first->second));
      }
      return !is_over();
    });
    note_failed_read(table);
  }
}

}  // namespace millrace
