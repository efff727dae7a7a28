// Checks of history: the chain of an instance's rows, from the newest to the first one or, if the
// history is trimmed, to the oldest one that is kept; and rows that are in no chain.
// check_story.cc compares the instance with its history.
#include <algorithm>

#include "orchestrator/check/checker.h"
#include "orchestrator/check/record_shape.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/store/rows/history_rows.h"
#include "states/state.h"

namespace millrace {

/// Follows the chain of an instance from the newest row to the first and checks each row.
void Checker::check_history(Walked& one, const Workflow* workflow) {
  const std::string head_key = one.key(Part::kHead);
  const Place head_place{one.table, head_key};
  const Instance& head = *one.head;
  HistoryChain chain;
  uint64_t bytes = 0;
  bool is_whole = true;
  one.story.emplace();
  std::string key = head_key;
  Table table = one.table;
  for (uint64_t number = head.last_history; number != 0;) {
    const std::string row_key = rows::key_of(number);
    const Place place{Table::kHistory, row_key};
    const auto value = view_.get(Table::kHistory, row_key);
    const auto row = read_chained(one, number, {table, key}, value);
    is_whole = row.has_value();
    if (!row) break;
    check_chained_seal(one, place, row->sealed, chain);
    check_chained_records(one, place, *row, number, chain);
    check_history_row(one, place, *row, workflow);
    chain.records += row->records.size();
    bytes += Seal::plain_size(*value);
    table = Table::kHistory;
    key = row_key;
    number = row->previous;
  }
  if (head.last_history == 0) {
    add(StoreFault::kHistoryCount, head_place, "the instance has no history");
  } else if (!is_whole) {
    unsound_.insert(one.id);  // the rows of the chain after the break get no findings of their own
    one.story.reset();
  } else if (const uint64_t kept = head.history_count - head.history_trimmed;
             chain.records != kept) {
    add(StoreFault::kHistoryCount, head_place,
        fmt::format("the head counts {} records, but {} exist", kept, chain.records));
  }
  if (is_whole) one.history_bytes = bytes;
  if (!one.story) return;
  one.story->oldest = chain.later;
  check_story(one, workflow);
}

/// Reads row `number` of an instance's chain, which the row at `by` names. nullopt: the chain
/// breaks at this row, and read_chained() has added a finding.
std::optional<HistoryRow> Checker::read_chained(const Walked& one, uint64_t number, const Place& by,
                                                std::optional<std::string_view> value) {
  note_given(Counter::kHistory, number, by);
  const std::string key = rows::key_of(number);
  const Place place{Table::kHistory, key};
  if (!value) {
    add(StoreFault::kHistoryMissing, by, fmt::format("history row {} does not exist", number));
    return std::nullopt;
  }
  auto row = open_and_decode(place, *value, decode_history);
  chained_.insert(number);
  if (erased_.contains(number)) {
    add(StoreFault::kPurgeTarget, by,
        fmt::format("history row {} belongs to this instance, but a purge erases it", number));
  }
  if (!row) return std::nullopt;
  if (row->instance != one.id || row->ns != one.ns) {
    add(StoreFault::kHistoryOwner, place,
        fmt::format("the row is in the chain of instance {}, but names instance {} in {}",
                    to_string(one.id), to_string(row->instance), name_of(row->ns)));
    return std::nullopt;
  }
  if (row->previous >= number) {
    add(StoreFault::kHistoryOrder, place,
        fmt::format("the row names row {} as its previous row, expected a lower number",
                    row->previous));
    return std::nullopt;
  }
  row->sealed = Seal::is_sealed(*value);
  return std::move(*row);
}

/// Checks that all rows after the first sealed row of the chain are sealed, and the head, too.
void Checker::check_chained_seal(Walked& one, const Place& place, bool is_sealed,
                                 HistoryChain& chain) {
  if (is_sealed && !one.head->sealed) {
    add(StoreFault::kInstanceSeal, place, "the row is sealed, but the head of its instance is not");
  }
  // An instance that enters a state may read a sealed value before the entry has a record. Each
  // other step that seals an instance has a record.
  const bool is_newest = chain.records == 0;
  if (is_newest && !is_sealed && one.head->sealed && one.head->phase != Phase::kEntering) {
    add(StoreFault::kInstanceSeal, place, "the row is not sealed, but the head of its instance is");
  }
  if (chain.was_plain && is_sealed) {
    add(StoreFault::kInstanceSeal, place, "the row is sealed, but a later row is not");
  }
  chain.was_plain |= !is_sealed;
  one.story->is_first_sealed = is_sealed;
}

/// Checks the first and the last record of a chain, and the order of the times of all records.
void Checker::check_chained_records(const Walked& one, const Place& place, const HistoryRow& row,
                                    uint64_t number, HistoryChain& chain) {
  const Instance& head = *one.head;
  const auto order = [&](std::string wrong) {
    add(StoreFault::kHistoryOrder, place, std::move(wrong));
  };
  if (row.records.empty()) {
    add(StoreFault::kRowValue, place, "the row has no record");
    return;
  }
  if (number == head.last_history) check_newest_records(one, place, row, number);
  // The first records of a trimmed history do not exist any more.
  const bool is_start = row.records.front().kind == HistoryKind::kStarted;
  if (row.previous == 0 && (head.history_trimmed == 0 || is_start)) {
    const std::string head_key = one.key(Part::kHead);
    if (!is_start) order("the first record is not `started`");
    if (head.history_trimmed > 0) {
      add(StoreFault::kHistoryCount, {one.table, head_key},
          fmt::format("the head counts {} erased records, but the history still begins with the "
                      "record `started`",
                      head.history_trimmed));
    }
    if (row.records.front().time != head.started_at) {
      add(StoreFault::kInstanceStatus, {one.table, head_key},
          fmt::format("the instance started at {} ms by its head, but at {} ms by its history",
                      to_millis(head.started_at), to_millis(row.records.front().time)));
    }
  }
  for (auto record = row.records.rbegin(); record != row.records.rend(); ++record) {
    if (chain.later && record->time > *chain.later) {
      order("a record is later than the next record");
    }
    chain.later = record->time;
  }
}

/// Checks that the newest row ends as the head says, and that it has the instance's data if the
/// data row refers to it.
void Checker::check_newest_records(const Walked& one, const Place& place, const HistoryRow& row,
                                   uint64_t number) {
  const bool ends = row.records.back().kind == HistoryKind::kEnded;
  if (ends != has_ended(one.head->status)) {
    add(StoreFault::kHistoryOrder, place,
        ends ? "the newest row ends with the record `ended`, but the instance is live"
             : "the newest row does not end with the record `ended`, but the instance has ended");
  }
  if (ends) check_end(one, row.records.back());
  if (one.is_data_in_history && row.with_input.empty() &&
      std::none_of(row.records.begin(), row.records.end(),
                   [](const HistoryRecord& record) { return record.data; })) {
    const std::string head_key = one.key(Part::kHead);
    add(StoreFault::kInstanceParts, {one.table, head_key},
        fmt::format("the data of the instance should be in history row {}, but is not", number));
  }
}

/// Checks that the record `ended` has the time and status of the head.
void Checker::check_end(const Walked& one, const HistoryRecord& record) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  if (head.ended_at && *head.ended_at != record.time) {
    add(StoreFault::kInstanceStatus, place,
        fmt::format("the instance ended at {} ms by its head, but at {} ms by its history",
                    to_millis(*head.ended_at), to_millis(record.time)));
  }
  const auto detail = parse_own_json(record.detail.text());  // check_history_row() checks the JSON
  if (!detail || !detail->is_object() || !detail->contains("status")) return;
  if (const Json& status = detail->at("status"); status != to_string(head.status)) {
    add(StoreFault::kInstanceStatus, place,
        fmt::format("the instance is {}, but its history says that it ended as {}",
                    to_string(head.status), status.dump()));
  }
}

void Checker::check_history_row(Walked& one, const Place& place, const HistoryRow& row,
                                const Workflow* workflow) {
  HistoryFacts& story = *one.story;
  const bool has_state = workflow != nullptr && one.head->state < workflow->states.size();
  const std::string current =
      has_state ? workflow->states[one.head->state]->common().id : std::string();
  for (size_t i = row.records.size(); i-- > 0;) {  // from the newest on
    const HistoryRecord& record = row.records[i];
    const bool has_input = std::binary_search(row.with_input.begin(), row.with_input.end(), i);
    note_record(one, place, record);
    if (record.kind != HistoryKind::kEntered && (record.data || has_input)) {
      add(StoreFault::kRowValue, place,
          fmt::format("a record `{}` has data, but only a record `entered` has data",
                      to_string(record.kind)));
    }
    // The record of a call's retry has the call's index.
    const bool is_retry_of_call = record.kind == HistoryKind::kRetrying &&
                                  record.detail.text().find("\"index\"") != std::string::npos;
    if (!story.newest && !is_retry_of_call) story.newest_kind = record.kind;
    if (!story.newest) story.newest = record.time;
    if (story.last_state.empty()) story.last_state = record.state;
    const bool is_elsewhere = has_state && !record.state.empty() && record.state != current;
    if (is_elsewhere && !story.elsewhere) story.elsewhere = record.time;
    story.has_entry_elsewhere |=
        is_elsewhere && record.kind == HistoryKind::kEntered && record.event.stream != 0;
    const bool is_admission =
        record.kind == HistoryKind::kAdmitted || record.kind == HistoryKind::kReleased;
    const bool begins = record.kind == HistoryKind::kStarted || record.kind == HistoryKind::kRun ||
                        record.kind == HistoryKind::kRevived ||
                        record.kind == HistoryKind::kContinued || is_admission;
    if (record.kind == HistoryKind::kEntered && !story.began && workflow != nullptr) {
      const auto& clean_up = workflow->timeouts.on_failure;
      story.has_clean_up |= clean_up && *clean_up < workflow->states.size() &&
                            workflow->states[*clean_up]->common().id == record.state;
    }
    story.has_compensated |= record.kind == HistoryKind::kCompensating && !story.began;
    if (is_admission) {
      if (!story.admitted) story.admitted = record.time;
      story.has_execution_start |= record.time == one.head->execution_from;
    }
    if (begins && !story.began) story.began = record;
    // A manual retry continues the run that failed.
    const bool is_new_run = begins && !is_admission;
    if (is_new_run && record.detail.text() != R"({"how":"retry"})") ++story.runs;
    check_position(record.event, place);
    if (record.kind == HistoryKind::kEntered) note_stream(one, record.event);
    // The calls of an instance that makes its compensations began with the newest one.
    const bool begins_calls = record.kind == HistoryKind::kEntered ||
                              (record.kind == HistoryKind::kUndoing && one.head->compensating);
    if (begins_calls && !story.entered) {
      story.entered = record;
      story.entered_with_input = has_input;
      story.is_entry_sealed = row.sealed;
    }
    if (record.kind == HistoryKind::kRetrying && !story.retrying && !is_retry_of_call) {
      story.retrying = record;
    }
    if (record.data && one.input && record.data->text() != *one.input) story.has_other_data = true;
  }
  check_time(row.records.empty() ? TimePoint() : row.records.back().time, place,
             "the last record of the row");
  for (const HistoryRecord& record : row.records) {
    if (!record.detail.is_null()) check_json(record.detail.text(), place, "the detail of a record");
    if (record.data) check_json(record.data->text(), place, "the data of a record");
    if (auto wrong = wrong_shape(record)) add(StoreFault::kRowValue, place, std::move(*wrong));
    if (workflow == nullptr || record.state.empty()) continue;
    const bool is_state =
        std::any_of(workflow->states.begin(), workflow->states.end(),
                    [&](const auto& state) { return state->common().id == record.state; });
    if (is_state) continue;
    add(StoreFault::kInstanceState, place,
        fmt::format(
            "a record names state \"{}\", but the revision of the instance has no such state",
            record.state));
  }
}

/// Checks the history rows that are in no chain.
void Checker::check_orphans() {
  each_row(Table::kHistory, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kHistory, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kHistory, *number, place);
    if (chained_.contains(*number)) return;
    const auto row = open_and_decode(place, value, decode_history);
    if (!row || unsound_.contains(row->instance) || purged_.contains(row->ns)) return;
    const std::string id = to_string(row->instance);
    add(StoreFault::kHistoryOrphan, place,
        exists(row->ns, row->instance)
            ? fmt::format("the row is not in the chain of its instance {}", id)
            : fmt::format("the instance {} of the row does not exist in {}", id, name_of(row->ns)));
  });
}

}  // namespace millrace
