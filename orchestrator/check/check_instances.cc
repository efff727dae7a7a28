// Instances, living and ended, with what hangs on them: calls, callers, tasks, errands, history.
#include <algorithm>

#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/engine/engine.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "states/state.h"

namespace millrace {

namespace {

/// What does not fit in the status of one that lives; nullptr: all does.
const char* wrong_living(const Instance& one) {
  using enum InstanceStatus;
  if (has_ended(one.status)) return "it has ended, and stands with the living";
  if (one.phase == Phase::kEnded) return "it lives, and its phase is `ended`";
  if (one.ended_at) return "it lives, and has a time of its end";
  if (one.paused != (one.status == kPaused)) return "its flag `paused` is not as its status";
  const bool is_passing = one.phase == Phase::kEntering || one.phase == Phase::kLeaving;
  if (one.status == kPending && one.phase != Phase::kEntering) {
    return "it is pending, and does not enter a state";
  }
  if (one.status == kRunning && !is_passing) return "it is running, and waits";
  if (one.status == kWaiting && is_passing) return "it is waiting, and enters or leaves a state";
  if (one.parked && !is_passing) return "an evaluation is under way, and it waits";
  if (!one.calls.empty() && is_passing) return "it has calls, and does not wait";
  if (!one.listeners.empty() && is_passing) return "it has listeners, and does not wait";
  if (one.cancelling && (one.paused || one.calls.empty())) {
    return "it is being cancelled, and has no call that runs";
  }
  return nullptr;
}

const char* wrong_ended(const Instance& one) {
  using enum InstanceStatus;
  if (!has_ended(one.status)) return "it has not ended, and stands with the ended";
  if (one.phase != Phase::kEnded) return "it has ended, and its phase is another";
  if (!one.ended_at) return "it has ended, and has no time of its end";
  if (*one.ended_at < one.started_at) return "it ended before it started";
  if (one.paused || one.parked) return "it has ended, and is paused, or evaluates";
  if (one.awaits_run) return "it has ended, and awaits its next run";
  if (!one.calls.empty() || !one.listeners.empty())
    return "it has ended, and has calls or listeners";
  if (!one.timers.empty() || !one.held_timers.empty()) return "it has ended, and has timers";
  if (one.error.has_value() == (one.status == kComplete)) {
    return one.error ? "it is complete, and has an error" : "it did not complete, and has no error";
  }
  return nullptr;
}

/// What does not fit in a call; nullptr: all does.
const char* wrong_call(const Call& call) {
  using enum Call::Status;
  const bool has_id = call.id != InstanceId();
  const bool has_deadlines =
      std::any_of(call.deadlines.begin(), call.deadlines.end(), [](const auto& at) { return at; });
  if (call.retry_at.has_value() != (call.status == kBetween)) {
    return "the time of its next attempt does not fit its status";
  }
  if (call.status == kQueued && (call.attempt > 0 || has_id)) {
    return "it is queued, and had an attempt";
  }
  if ((call.status == kRunning || call.status == kBetween) && (call.attempt == 0 || !has_id)) {
    return "it had no attempt, and is not queued";
  }
  if ((call.status == kDone || call.status == kFailed) && has_deadlines) {
    return "it has ended, and has deadlines";
  }
  return nullptr;
}

}  // namespace

// Errands.

void Checker::check_inbox() {
  each_row(Table::kInbox, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kInbox, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kInbox, *number, place);
    const auto record = open_and_decode(place, value, decode_inbox);
    if (!record) return;
    note_given(Counter::kRecent, record->listen_from, place);
    const NamespaceNumber space =
        std::visit([](const auto& errand) { return errand.space; }, record->errand);
    note_given(Counter::kNamespace, static_cast<uint32_t>(space), place);
    if (const auto* const start = std::get_if<StartChild>(&record->errand)) {
      check_utf8(start->workflow, place, "the name of the workflow");
      check_json(start->input.text(), place, "the input");
      starts_.insert(start->child);
      if (exists(start->space, start->child)) {
        add(StoreFault::kErrandTwice, place,
            fmt::format("child {} exists, and the errand starts it", to_string(start->child)));
      }
    } else if (const auto* const cancel = std::get_if<CancelChild>(&record->errand)) {
      cancels_.insert(cancel->child);
    } else {
      const auto& result = std::get<ReturnResult>(record->errand);
      returns_.insert(place_of(result.to));
      if (result.result) check_json(result.result->text(), place, "the result");
    }
  });
}

// The rows of instances.

void Checker::check_instances(Table table) {
  Walked one;
  each_row(table, [&](std::string_view key, std::string_view value) {
    const Place place{table, key};
    Reader reader(key);
    const auto space = NamespaceNumber(reader.u32());
    const InstanceId id{reader.id()};
    const uint8_t number = reader.u8();
    const auto part = static_cast<Part>(number);
    std::optional<uint32_t> index;
    if (part == Part::kCall) index = reader.u32();
    if (!reader.done() || number > static_cast<uint8_t>(Part::kFailedData)) {
      add(StoreFault::kRowKey, place,
          "the key is not a namespace, an instance and one of its parts");
      return;
    }
    if (purged_.contains(space)) return;
    constexpr size_t kPrefixSize = 4 + 16;
    if (key.substr(0, kPrefixSize) != one.prefix) {
      finish(one);
      one = {.table = table,
             .prefix = std::string(key.substr(0, kPrefixSize)),
             .space = space,
             .id = id};
    }
    check_row(one, part, key, value, index);
  });
  if (!is_over()) finish(one);
}

void Checker::check_row(Walked& one, Part part, std::string_view key, std::string_view value,
                        std::optional<uint32_t> index) {
  const Place place{one.table, key};
  if (part == Part::kHead) {
    one.has_head = true;
    const auto head = open_and_decode(place, value, decode_head);
    if (!head) return;
    if (head->id != one.id || head->space != one.space) {
      add(StoreFault::kInstanceKey, place,
          fmt::format("the head is of instance {} in {}", to_string(head->id),
                      name_of(head->space)));
      return;
    }
    one.head = *head;
    one.head->sealed = Seal::is_sealed(value);
    return check_place(one);
  }
  const bool is_living = one.table == Table::kLive;
  if (!is_living && part != Part::kInput && part != Part::kData && part != Part::kFailedData) {
    return add(StoreFault::kInstanceParts, place,
               "an instance that has ended has only input, data and the data of its failed state");
  }
  if (Seal::is_sealed(value) && one.head && !one.head->sealed && part != Part::kCall) {
    add(StoreFault::kInstanceSeal, place, "the row is sealed, and the head is not");
  }
  if (!Seal::is_sealed(value)) one.plain = part;
  if (part == Part::kCall) {
    const auto call = open_and_decode(place, value, decode_call);
    if (*index != one.calls) {
      add(StoreFault::kInstanceParts, place,
          fmt::format("call {} is missing in front of it", one.calls));
    }
    one.calls = *index + 1;
    if (call && check_call(one, place, *call, *index)) {
      one.read_calls.push_back(*call);
      one.read_calls.back().result = {};
    }
    return;
  }
  if (part == Part::kSlots) {
    const auto slots = open_and_decode(place, value, decode_slots);
    if (!slots) return;
    if (slots->empty()) add(StoreFault::kRowValue, place, "the row of slots has none");
    for (const auto& slot : *slots) {
      one.slots.push_back(slot.has_value());
      if (slot) check_json(slot->text(), place, "a slot");
    }
    return;
  }
  const auto text = open(place, value);
  one.has_input |= part == Part::kInput;
  one.has_data |= part == Part::kData;
  one.has_found_data |= part == Part::kFoundData;
  one.has_failed_data |= part == Part::kFailedData;
  if (!text) return;
  if (text->empty() && part == Part::kData && !is_living) {
    one.is_data_in_history = true;
    return;
  }
  if (!check_json(*text, place, "the text")) return;
  if (part == Part::kInput && text->front() != '{') {
    add(StoreFault::kRowValue, place, "the input is not an object");
  }
  if (part == Part::kInput) one.input = *text;
  if (part == Part::kData) one.data = *text;
}

/// Returns whether it can be compared with what its state makes of it.
bool Checker::check_call(Walked& one, const Place& place, const Call& call, uint32_t index) {
  bool is_right = check_json(call.input.text(), place, "the input");
  is_right &= check_json(call.result.text(), place, "the result");
  if (call.first_at) check_time(*call.first_at, place, "its first attempt");
  if (const char* const wrong = wrong_call(call)) {
    add(StoreFault::kCallState, place, wrong);
    return false;
  }
  const auto note = [&](const std::optional<TimePoint>& at) {
    if (at) one.due = std::min(one.due.value_or(*at), *at);
  };
  note(call.retry_at);
  for (const auto& deadline : call.deadlines) note(deadline);
  if (!one.head || call.status != Call::Status::kRunning) return is_right;

  const Caller caller{
      .instance = one.id, .entered = one.head->entered, .index = index, .attempt = call.attempt};
  const std::string what = to_string(call.id);
  if (call.outside) {
    const auto value = view_.get(Table::kTasks, rows::key_of(call.id));
    if (!value) {
      add(StoreFault::kCallTask, place, fmt::format("task {} is not there", what));
      return false;
    }
    const auto task =
        rows::decode(view_, Table::kTasks, rows::key_of(call.id), *value, decode_task);
    if (task && task->caller != caller) {
      add(StoreFault::kCallTask, place, fmt::format("task {} is of another call", what));
      return false;
    }
    return is_right;
  }
  const Known child = find(Table::kLive, one.space, call.id);
  if (child.head && child.head->caller != caller) {
    add(StoreFault::kCallChild, place, fmt::format("child {} is of another call", what));
  } else if (!child.exists && !starts_.contains(call.id) && !returns_.contains(place_of(caller))) {
    add(StoreFault::kCallChild, place, fmt::format("child {} does not live", what));
  }
  return is_right;
}

void Checker::finish(Walked& one) {
  if (one.prefix.empty()) return;
  if (!one.has_head) {
    add(StoreFault::kInstanceNoHead, {one.table, one.prefix + static_cast<char>(Part::kInput)},
        "there are rows of the instance and no head");
  }
  if (!one.head) {
    unsound_.insert(one.id);
    return;
  }
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const auto parts = [&](bool is_there, std::string found) {
    if (!is_there) add(StoreFault::kInstanceParts, place, std::move(found));
  };
  parts(one.has_input, "its input is missing");
  parts(one.has_failed_data == head.failed_data.has_value(),
        one.has_failed_data ? "it has data of a failed state, and its head tells of none"
                            : "the data of its failed state is missing");
  parts(one.calls == head.calls.size(),
        fmt::format("its head tells of {} calls, and {} are there", head.calls.size(), one.calls));
  const auto workflow = definition(head.revision);
  if (workflow != nullptr) check_place_in_workflow(one, *workflow);
  check_status(one);
  check_history(one, workflow.get());
  if (one.table == Table::kLive) check_waits(one, workflow.get());
  check_relations(one);
}

/// Its states, by number and by name.
void Checker::check_place_in_workflow(const Walked& one, const Workflow& workflow) {
  const std::string key = one.key(Part::kHead);
  const Instance& head = *one.head;
  const auto wrong = [&](std::string found) {
    add(StoreFault::kInstanceState, {one.table, key}, std::move(found));
  };
  size_t most_exits = 0;
  bool has_failed_state = head.failed_state.empty();
  for (const auto& state : workflow.states) {
    most_exits = std::max(most_exits, state->common().exits.size());
    has_failed_state |= state->common().id == head.failed_state;
  }
  if (head.state >= workflow.states.size()) {
    return wrong(fmt::format("it is in state {}, and its revision has {} states", head.state,
                             workflow.states.size()));
  }
  const bool leaves = head.phase == Phase::kLeaving;
  const size_t exits =
      leaves ? workflow.states[head.state]->common().exits.size() : std::max<size_t>(most_exits, 1);
  if (head.exit >= exits) {
    wrong(fmt::format("it {} by way out {}, counted from 0, of {}", leaves ? "leaves" : "came",
                      head.exit, exits));
  }
  if (!has_failed_state) {
    wrong(fmt::format("the state that failed is \"{}\", and its revision has no state of that name",
                      head.failed_state));
  }
  const WorkflowTimeouts& timeouts = workflow.timeouts;
  const bool may_clean_up =
      timeouts.on_failure && (timeouts.on_any_failure || execution_deadline(workflow, head));
  if (one.table == Table::kLive && head.failing && !may_clean_up) {
    add(StoreFault::kInstanceStatus, {one.table, key},
        "it is on the way through `on_failure` (flag 2), and its definition leads nothing there");
  }
}

/// Namespace, workflow and revision.
void Checker::check_place(const Walked& one) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const Revision revision = head.revision;
  const auto number = static_cast<uint32_t>(revision.workflow);
  homes_.emplace(revision.workflow, one.space);
  note_given(Counter::kWorkflow, number, place);
  note_given(Counter::kRecent, head.listen_from, place);
  check_time(head.started_at, place, "its start");
  check_time(head.execution_from, place, "the start of its execution");
  check_time(head.runs_from, place, "the start of its runs");
  check_time(head.state_from, place, "the entry into its state");
  if (head.ended_at) check_time(*head.ended_at, place, "its end");
  const bool has_space = check_namespace(one.space, place);
  const auto workflow = workflows_.find(revision.workflow);
  if (workflow == workflows_.end()) {
    // One that has ended may be left of a workflow that was deleted.
    if (one.table == Table::kLive && has_space) {
      add(StoreFault::kWorkflowMissing, place,
          fmt::format("no workflow has the number {}", number));
    }
  } else if (workflow->second.space != one.space) {
    add(StoreFault::kInstanceKey, place,
        fmt::format("its workflow {} is of namespace {}", workflow->second.id,
                    name_of(workflow->second.space)));
  }
  if (!has_definition(revision)) {
    add(StoreFault::kDefinitionMissing, place,
        fmt::format("revision {} of workflow {} is not there", revision.number, number));
  }
  if (one.table == Table::kLive && view_.get(Table::kEnded, key)) {
    add(StoreFault::kInstanceTwice, place, "there is an ended instance of this id, too");
  }
}

void Checker::check_status(const Walked& one) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const bool is_living = one.table == Table::kLive;
  if (const char* const wrong = is_living ? wrong_living(head) : wrong_ended(head)) {
    add(StoreFault::kInstanceStatus, place, wrong);
  }
  const auto value = [&](bool is_right, std::string found) {
    if (!is_right) add(StoreFault::kRowValue, place, std::move(found));
  };
  value(head.attempt > 0, "attempts count from 1, and its state is in attempt 0");
  value(head.run > 0, "runs count from 1, and it is in run 0");
  value(
      head.first_run > 0 && head.first_run <= head.run,
      fmt::format("its policy counts from run {}, and it is in run {}", head.first_run, head.run));
  value(head.entered <= head.step,
        fmt::format("it entered its state in step {}, and is in step {}", head.entered, head.step));
  value(head.transitions <= head.step,
        fmt::format("it made {} transitions in {} steps", head.transitions, head.step));
  value(head.depth <= kMaxDepth && (!head.caller || head.depth > 0),
        fmt::format("it is nested {} deep, {} a caller; the limit is {}", head.depth,
                    head.caller ? "with" : "without", kMaxDepth));
  check_utf8(head.idempotency_key, place, "its idempotency key");
  if (!head.own_policy.empty()) check_json(head.own_policy, place, "the policy of its start");
}

/// Its caller, and the start that it came by.
void Checker::check_relations(const Walked& one) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  if (!head.idempotency_key.empty()) {
    const std::string by =
        rows::workflow_prefix(head.revision.workflow).append(head.idempotency_key);
    const auto value = by.size() <= kMaxKeySize ? view_.get(Table::kIdempotency, by) : std::nullopt;
    const auto record = value ? decode_idempotency(*value) : fail("", "");
    if (!record || record->instance != one.id) {
      add(StoreFault::kInstanceIdempotency, place,
          fmt::format("its idempotency key {} does not lead to it", head.idempotency_key));
    }
  }
  if (one.table != Table::kLive || !head.caller) return;
  bool known = true;
  const auto call = waiting_call(one.space, *head.caller, known);
  const bool is_awaited = call && !call->outside && call->id == one.id;
  if (!known || is_awaited || head.cancelling || cancels_.contains(one.id)) return;
  add(StoreFault::kInstanceCaller, place,
      fmt::format("call {} of {} does not wait for it", head.caller->index,
                  to_string(head.caller->instance)));
}

std::optional<Call> Checker::waiting_call(NamespaceNumber space, const Caller& caller,
                                          bool& known) {
  const Known& parent = find_living(space, caller.instance);
  known = !parent.exists || parent.head;
  if (!parent.head || parent.head->entered != caller.entered ||
      caller.index >= parent.head->calls.size()) {
    return std::nullopt;
  }
  Writer key;
  key.raw(rows::instance_prefix(space, caller.instance));
  key.u8(static_cast<uint8_t>(Part::kCall));
  key.u32(caller.index);
  const auto value = view_.get(Table::kLive, key.view());
  if (!value) return std::nullopt;
  const auto call = rows::decode(view_, Table::kLive, key.view(), *value, decode_call);
  known = call.has_value();
  if (!call || call->status != Call::Status::kRunning || call->attempt != caller.attempt) {
    return std::nullopt;
  }
  return *call;
}

// History.

/// Follows the chain from the newest row to the first.
void Checker::check_history(Walked& one, const Workflow* workflow) {
  const std::string head_key = one.key(Part::kHead);
  const Place head_place{one.table, head_key};
  const Instance& head = *one.head;
  uint64_t count = 0;
  bool is_whole = true;
  bool was_plain = false;
  one.story.emplace();
  std::optional<TimePoint> later;
  std::string key = head_key;
  Table table = one.table;
  for (uint64_t number = head.last_history; number != 0;) {
    const Place by{table, key};  // who names the row
    note_given(Counter::kHistory, number, by);
    const std::string row_key = rows::key_of(number);
    const Place place{Table::kHistory, row_key};
    const auto value = view_.get(Table::kHistory, row_key);
    is_whole = false;
    if (!value) {
      add(StoreFault::kHistoryMissing, by, fmt::format("history row {} is not there", number));
      break;
    }
    const auto row = open_and_decode(place, *value, decode_history);
    chained_.insert(number);
    if (erased_.contains(number)) {
      add(StoreFault::kPurgeTarget, by,
          fmt::format("history row {} is of this instance, and of what a purge erases", number));
    }
    if (!row) break;
    if (row->instance != one.id || row->space != one.space) {
      add(StoreFault::kHistoryOwner, place,
          fmt::format("it is in the chain of instance {} and names {} in {}", to_string(one.id),
                      to_string(row->instance), name_of(row->space)));
      break;
    }
    if (row->previous >= number) {
      add(StoreFault::kHistoryOrder, place, fmt::format("the row before it is {}", row->previous));
      break;
    }
    is_whole = true;
    if (Seal::is_sealed(*value) && !head.sealed) {
      add(StoreFault::kInstanceSeal, place,
          "the row is sealed, and the head of its instance is not");
    }
    const auto order = [&](std::string wrong) {
      add(StoreFault::kHistoryOrder, place, std::move(wrong));
    };
    if (row->records.empty()) {
      add(StoreFault::kRowValue, place, "the row has no record");
    } else {
      const bool is_last = number == head.last_history;
      const bool ends = row->records.back().kind == HistoryKind::kEnded;
      if (is_last && ends != has_ended(head.status)) {
        order(ends ? "it ends with `ended`, and the instance lives"
                   : "it does not end with `ended`, and the instance has ended");
      }
      if (row->previous == 0 && row->records.front().kind != HistoryKind::kStarted) {
        order("the first record is not `started`");
      }
      if (is_last && ends) check_end(one, row->records.back());
      if (row->previous == 0 && row->records.front().time != head.started_at) {
        add(StoreFault::kInstanceStatus, head_place,
            fmt::format("it started at {} ms, and by its history at {} ms",
                        to_millis(head.started_at), to_millis(row->records.front().time)));
      }
      if (is_last && one.is_data_in_history && row->with_input.empty() &&
          std::none_of(row->records.begin(), row->records.end(),
                       [](const HistoryRecord& record) { return record.data; })) {
        add(StoreFault::kInstanceParts, head_place,
            fmt::format("its data should be in history row {}, and is not", number));
      }
    }
    for (auto record = row->records.rbegin(); record != row->records.rend(); ++record) {
      if (later && record->time > *later) order("a record is later than the one behind it");
      later = record->time;
    }
    if (was_plain && Seal::is_sealed(*value)) {
      add(StoreFault::kInstanceSeal, place, "the row is sealed, and a later one is not");
    }
    was_plain |= !Seal::is_sealed(*value);
    one.story->is_first_sealed = Seal::is_sealed(*value);
    check_history_row(one, place, *row, workflow);
    count += row->records.size();
    table = Table::kHistory;
    key = row_key;
    number = row->previous;
  }
  if (head.last_history == 0) {
    add(StoreFault::kHistoryCount, head_place, "the instance has no history");
  } else if (!is_whole) {
    unsound_.insert(one.id);  // what is behind the break is no finding of its own
    one.story.reset();
  } else if (count != head.history_count) {
    add(StoreFault::kHistoryCount, head_place,
        fmt::format("the head counts {} records, and {} are there", head.history_count, count));
  }
  if (one.story) check_story(one, workflow);
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
  const Walked::Story& story = *one.story;
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
  Walked::Story& story = *one.story;
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

// Tasks.

void Checker::check_tasks() {
  each_row(Table::kTasks, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kTasks, key};
    const auto task = open_and_decode(place, value, decode_task);
    if (!task) return;
    if (key != rows::key_of(task->task)) {
      add(StoreFault::kRowKey, place, fmt::format("the row is of task {}", to_string(task->task)));
      return;
    }
    check_json(task->input.text(), place, "the input");
    note_given(Counter::kWorkflow, static_cast<uint32_t>(task->workflow), place);
    if (task->attempt == 0 || (task->heartbeat && *task->heartbeat <= Duration(0)) ||
        (task->caller && task->caller->instance != task->by)) {
      add(StoreFault::kRowValue, place,
          fmt::format("attempt {}, by instance {}", task->attempt, to_string(task->by)));
    }
    if (!check_namespace(task->space, place) || !task->caller) return;
    bool known = true;
    const auto call = waiting_call(task->space, *task->caller, known);
    if (!known || (call && call->outside && call->id == task->task)) return;
    add(StoreFault::kTaskCaller, place,
        fmt::format("call {} of {} does not wait for it", task->caller->index,
                    to_string(task->caller->instance)));
  });
}

}  // namespace millrace
