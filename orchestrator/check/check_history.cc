// The history of an instance: the chain of its rows, from the newest to the first, and what they
// tell of the instance, beside the instance; rows that are in no chain.
#include <algorithm>

#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/store/rows/history_rows.h"
#include "states/state.h"

namespace millrace {

/// Follows the chain from the newest row to the first.
void Checker::check_history(Walked& one, const Workflow* workflow) {
  const std::string head_key = one.key(Part::kHead);
  const Place head_place{one.table, head_key};
  const Instance& head = *one.head;
  HistoryChain chain;
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
    check_chained_seal(one, place, Seal::is_sealed(*value), chain);
    check_chained_records(one, place, *row, number, chain);
    check_history_row(one, place, *row, workflow);
    chain.records += row->records.size();
    table = Table::kHistory;
    key = row_key;
    number = row->previous;
  }
  if (head.last_history == 0) {
    add(StoreFault::kHistoryCount, head_place, "the instance has no history");
  } else if (!is_whole) {
    unsound_.insert(one.id);  // what is behind the break is no finding of its own
    one.story.reset();
  } else if (chain.records != head.history_count) {
    add(StoreFault::kHistoryCount, head_place,
        fmt::format("the head counts {} records, and {} are there", head.history_count,
                    chain.records));
  }
  if (one.story) check_story(one, workflow);
}

/// Row `number` of an instance's chain, which the row at `by` names. None: the chain breaks there.
std::optional<HistoryRow> Checker::read_chained(const Walked& one, uint64_t number, const Place& by,
                                                std::optional<std::string_view> value) {
  note_given(Counter::kHistory, number, by);
  const std::string key = rows::key_of(number);
  const Place place{Table::kHistory, key};
  if (!value) {
    add(StoreFault::kHistoryMissing, by, fmt::format("history row {} is not there", number));
    return std::nullopt;
  }
  auto row = open_and_decode(place, *value, decode_history);
  chained_.insert(number);
  if (erased_.contains(number)) {
    add(StoreFault::kPurgeTarget, by,
        fmt::format("history row {} is of this instance, and of what a purge erases", number));
  }
  if (!row) return std::nullopt;
  if (row->instance != one.id || row->space != one.space) {
    add(StoreFault::kHistoryOwner, place,
        fmt::format("it is in the chain of instance {} and names {} in {}", to_string(one.id),
                    to_string(row->instance), name_of(row->space)));
    return std::nullopt;
  }
  if (row->previous >= number) {
    add(StoreFault::kHistoryOrder, place, fmt::format("the row before it is {}", row->previous));
    return std::nullopt;
  }
  return std::move(*row);
}

/// From the row that seals the instance on, all rows are sealed.
void Checker::check_chained_seal(Walked& one, const Place& place, bool is_sealed,
                                 HistoryChain& chain) {
  if (is_sealed && !one.head->sealed) {
    add(StoreFault::kInstanceSeal, place, "the row is sealed, and the head of its instance is not");
  }
  if (chain.was_plain && is_sealed) {
    add(StoreFault::kInstanceSeal, place, "the row is sealed, and a later one is not");
  }
  chain.was_plain |= !is_sealed;
  one.story->is_first_sealed = is_sealed;
}

/// The first record of a chain and its last, and the times of all.
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
  if (row.previous == 0) {
    if (row.records.front().kind != HistoryKind::kStarted) {
      order("the first record is not `started`");
    }
    if (row.records.front().time != head.started_at) {
      const std::string head_key = one.key(Part::kHead);
      add(StoreFault::kInstanceStatus, {one.table, head_key},
          fmt::format("it started at {} ms, and by its history at {} ms",
                      to_millis(head.started_at), to_millis(row.records.front().time)));
    }
  }
  for (auto record = row.records.rbegin(); record != row.records.rend(); ++record) {
    if (chain.later && record->time > *chain.later) {
      order("a record is later than the one behind it");
    }
    chain.later = record->time;
  }
}

/// The newest row ends as the head says, and has the data that the head leaves to it.
void Checker::check_newest_records(const Walked& one, const Place& place, const HistoryRow& row,
                                   uint64_t number) {
  const bool ends = row.records.back().kind == HistoryKind::kEnded;
  if (ends != has_ended(one.head->status)) {
    add(StoreFault::kHistoryOrder, place,
        ends ? "it ends with `ended`, and the instance lives"
             : "it does not end with `ended`, and the instance has ended");
  }
  if (ends) check_end(one, row.records.back());
  if (one.is_data_in_history && row.with_input.empty() &&
      std::none_of(row.records.begin(), row.records.end(),
                   [](const HistoryRecord& record) { return record.data; })) {
    const std::string head_key = one.key(Part::kHead);
    add(StoreFault::kInstanceParts, {one.table, head_key},
        fmt::format("its data should be in history row {}, and is not", number));
  }
}

/// The record `ended` says when and how, as the head does.
void Checker::check_end(const Walked& one, const HistoryRecord& record) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  if (head.ended_at && *head.ended_at != record.time) {
    add(StoreFault::kInstanceStatus, place,
        fmt::format("it ended at {} ms, and by its history at {} ms", to_millis(*head.ended_at),
                    to_millis(record.time)));
  }
  const auto detail = parse_own_json(record.detail.text());  // check_history_row() looks at it, too
  if (!detail || !detail->is_object() || !detail->contains("status")) return;
  if (const Json& status = detail->at("status"); status != to_string(head.status)) {
    add(StoreFault::kInstanceStatus, place,
        fmt::format("it is {}, and its history says that it ended as {}", to_string(head.status),
                    status.dump()));
  }
}

/// What the history tells of the instance, beside the instance.
void Checker::check_story(const Walked& one, const Workflow* workflow) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const HistoryFacts& story = *one.story;
  if (story.is_first_sealed && one.plain) {
    const std::string part_key = one.key(*one.plain);
    add(StoreFault::kInstanceSeal, {one.table, part_key},
        "the row is not sealed, and its instance was sealed from the first batch on");
  }
  if (!one.has_data && story.has_other_data) {
    add(StoreFault::kInstanceParts, place,
        "its data is missing: a record of its history has data that is not its input");
  }
  if (story.runs != head.run) {
    add(StoreFault::kRowValue, place,
        fmt::format("it is in run {}, and its history tells of {}", head.run, story.runs));
  }
  if (workflow == nullptr || head.state >= workflow->states.size()) return;
  const std::string& state = workflow->states[head.state]->common().id;
  const auto in_another = [&](const std::string& told) {
    add(StoreFault::kInstanceState, place,
        fmt::format("it is in state \"{}\", and its history ends in state \"{}\"", state, told));
  };
  if (one.table == Table::kEnded) {
    if (story.last_state != state) in_another(story.last_state);
    return;
  }
  if (story.began && story.began->kind != HistoryKind::kRevived && head.transitions == 0 &&
      head.state != workflow->start.state) {
    add(StoreFault::kRowValue, place,
        fmt::format("it is in state \"{}\", where it does not start, and made no transition",
                    state));
  }
  const bool is_open = head.phase == Phase::kWaiting && !is_between_attempts(head);
  if (!is_open || !story.entered) return;
  if (story.entered->state != state) return in_another(story.entered->state);
  if (!one.input || (one.has_data && !one.data)) return;
  const std::string& data = one.data ? *one.data : *one.input;
  const std::string* found = nullptr;
  if (story.entered_with_input) found = &*one.input;
  if (story.entered->data) found = &story.entered->data->text();
  if (found != nullptr && *found != data) {
    add(StoreFault::kInstanceParts, place,
        "its data is not what it entered its state with, by its history");
  }
}

void Checker::check_history_row(Walked& one, const Place& place, const HistoryRow& row,
                                const Workflow* workflow) {
  HistoryFacts& story = *one.story;
  for (size_t i = row.records.size(); i-- > 0;) {  // from the newest on
    const HistoryRecord& record = row.records[i];
    const bool has_input = std::binary_search(row.with_input.begin(), row.with_input.end(), i);
    if (story.last_state.empty()) story.last_state = record.state;
    const bool begins = record.kind == HistoryKind::kStarted || record.kind == HistoryKind::kRun ||
                        record.kind == HistoryKind::kRevived;
    if (begins && !story.began) story.began = record;
    // A manual retry goes on with the run that failed.
    if (begins && record.detail.text() != R"({"how":"retry"})") ++story.runs;
    if (record.kind == HistoryKind::kEntered && !story.entered) {
      story.entered = record;
      story.entered_with_input = has_input;
    }
    // That of a call has its index.
    if (record.kind == HistoryKind::kRetrying && !story.retrying &&
        record.detail.text().find("\"index\"") == std::string::npos) {
      story.retrying = record;
    }
    if (record.data && one.input && record.data->text() != *one.input) story.has_other_data = true;
  }
  check_time(row.records.empty() ? TimePoint() : row.records.back().time, place, "its last record");
  for (const HistoryRecord& record : row.records) {
    if (!record.detail.is_null()) check_json(record.detail.text(), place, "the detail of a record");
    if (record.data) check_json(record.data->text(), place, "the data of a record");
    if (workflow == nullptr || record.state.empty()) continue;
    const bool is_state =
        std::any_of(workflow->states.begin(), workflow->states.end(),
                    [&](const auto& state) { return state->common().id == record.state; });
    if (is_state) continue;
    add(StoreFault::kInstanceState, place,
        fmt::format("a record names state \"{}\", and its revision has no such state",
                    record.state));
  }
}

/// What is in no chain.
void Checker::check_orphans() {
  each_row(Table::kHistory, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kHistory, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kHistory, *number, place);
    if (chained_.contains(*number)) return;
    const auto row = open_and_decode(place, value, decode_history);
    if (!row || unsound_.contains(row->instance) || purged_.contains(row->space)) return;
    const std::string id = to_string(row->instance);
    add(StoreFault::kHistoryOrphan, place,
        exists(row->space, row->instance)
            ? fmt::format("it is not in the chain of its instance {}", id)
            : fmt::format("its instance {} in {} does not exist", id, name_of(row->space)));
  });
}

}  // namespace millrace
