// Checks of instances, live and ended: each row, the rows compared with each other, the calls, and
// the relations to callers. check_history.cc checks their history, check_place.cc their place in
// the workflow, check_waits.cc their listeners, timers, calls and slots.
#include <algorithm>

#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The inconsistency in the status of a live instance; nullptr: there is none.
const char* wrong_live(const Instance& one) {
  using enum InstanceStatus;
  if (has_ended(one.status)) return "the instance has ended, but is in `live`";
  if (one.phase == Phase::kEnded) return "the instance is live, but its phase is `ended`";
  if (one.ended_at) return "the instance is live, but has an end time";
  if (one.paused != (one.status == kPaused))
    return "the flag `paused` does not match the status of the instance";
  const bool is_passing = one.phase == Phase::kEntering || one.phase == Phase::kLeaving;
  if (one.status == kPending && one.phase != Phase::kEntering) {
    return "the instance is pending, but does not enter a state";
  }
  if (waits_to_start(one) &&
      (one.phase != Phase::kEntering || (one.status != kPending && !one.paused))) {
    return is_queued(one) ? "the instance waits for a slot, but is not pending"
                          : "the instance waits for the throttle, but is not pending";
  }
  if (one.throttled && is_queued(one) == is_throttled(one)) {
    return is_queued(one) ? "the instance waits for a slot and for the throttle at once"
                          : "the throttle has to decide about the instance, which does not wait";
  }
  if (one.status == kRunning && !is_passing && !one.compensating)
    return "the instance is running, but its phase is that of a wait";
  if (one.status == kWaiting && is_passing)
    return "the instance is waiting, but enters or leaves a state";
  if (one.parked && !is_passing)
    return "an evaluation is under way, but the phase of the instance is that of a wait";
  if (!one.listeners.empty() && one.phase == Phase::kLeaving)
    return "the instance has listeners, but leaves its state";
  if (one.cancelling && (one.paused || one.calls.empty())) {
    return "the instance is being cancelled, but is paused or has no calls";
  }
  if (one.failing && !one.error) return "the instance will end as failed, but has no error";
  if (one.awaits_run && one.error) return "the instance waits for its next run, but has an error";
  return nullptr;
}

/// The inconsistency in the status of an ended instance; nullptr: there is none.
const char* wrong_ended(const Instance& one) {
  using enum InstanceStatus;
  if (!has_ended(one.status)) return "the instance has not ended, but is in `ended`";
  if (one.phase != Phase::kEnded) return "the instance has ended, but its phase is not `ended`";
  if (!one.ended_at) return "the instance has ended, but has no end time";
  if (*one.ended_at < one.started_at)
    return "the end time of the instance is before its start time";
  if (one.paused || one.parked)
    return "the instance has ended, but is paused or has an evaluation under way";
  if (one.slot) return "the instance has ended, but has a slot";
  if (one.throttled) return "the instance has ended, but waits for the throttle";
  if (one.awaits_run) return "the instance has ended, but waits for its next run";
  if (!one.calls.empty() || !one.listeners.empty())
    return "the instance has ended, but has calls or listeners";
  if (!one.timers.empty() || !one.held_timers.empty())
    return "the instance has ended, but has timers";
  if (one.error.has_value() == (one.status == kComplete)) {
    return one.error ? "the instance is complete, but has an error"
                     : "the instance did not complete, but has no error";
  }
  return nullptr;
}

/// The range of the number of steps that an instance has made since it entered its state.
struct StepRange {
  uint64_t least = 0;
  uint64_t most = 0;
};

/// An instance makes a step when it begins to wait, leaves its state, begins to wait for another
/// attempt or run, and ends. `waits`: it waits in its state, and not for another attempt or run.
StepRange steps_since_entry(Phase phase, bool waits) {
  switch (phase) {
    case Phase::kEntering:
      return {0, 0};
    case Phase::kWaiting:
      return waits ? StepRange{1, 1} : StepRange{1, 3};
    case Phase::kLeaving:
      return {1, 2};
    case Phase::kEnded:
      break;
  }
  return {1, 4};
}

/// The inconsistency in a call; nullptr: there is none.
const char* wrong_call(const Call& call) {
  using enum Call::Status;
  const bool has_id = call.id != InstanceId();
  const bool has_deadlines =
      std::any_of(call.deadlines.begin(), call.deadlines.end(), [](const auto& at) { return at; });
  if (call.retry_at.has_value() != (call.status == kBetween)) {
    return "the time of the next attempt does not match the status of the call";
  }
  if (call.status == kQueued && (call.attempt > 0 || has_id)) {
    return "the call is queued, but has an attempt number or an id";
  }
  const bool has_attempt_field =
      call.outside || call.started || call.first_at || call.last_error || call.progress;
  if (call.status == kQueued && (has_attempt_field || has_deadlines)) {
    return "the call is queued, but has a field that only a call with an attempt has";
  }
  if ((call.status == kRunning || call.status == kBetween) && (call.attempt == 0 || !has_id)) {
    return "the call is running or between two attempts, but has no attempt number or no id";
  }
  if (has_ended(call) && has_deadlines) {
    return "the call has ended, but has deadlines";
  }
  const auto has = [&](TimeoutKind kind) {
    return call.deadlines[static_cast<size_t>(kind)].has_value();
  };
  // The start of an attempt ends one of these timeouts and begins the other one.
  if (call.status == kRunning && !call.started && has(TimeoutKind::kStartToClose)) {
    return "the attempt of the call has not started, but has a deadline from its start";
  }
  if (call.status == kRunning && call.started && has(TimeoutKind::kScheduleToStart)) {
    return "the attempt of the call has started, but has a deadline for its start";
  }
  if (call.status != kDone && !call.result.is_null()) {
    return "the call has not succeeded, but has a result";
  }
  if (call.status == kDone && (call.attempt > 0) != has_id) {
    return "the call has succeeded, but has no attempt number or no id";
  }
  // A call without an attempt was skipped.
  if (call.status == kDone && call.attempt == 0 && !call.result.is_null()) {
    return "the call has a result, but no attempt";
  }
  if (call.status == kDone && call.last_error) return "the call has succeeded, but has an error";
  if (call.status == kDone && call.progress) return "the call has succeeded, but has progress";
  return nullptr;
}

}  // namespace

// The rows of instances.

void Checker::check_instances(Table table) {
  Walked one;
  each_row(table, [&](std::string_view key, std::string_view value) {
    const Place place{table, key};
    Reader reader(key);
    const auto ns = NamespaceNumber(reader.u32());
    const InstanceId id{reader.id()};
    const uint8_t number = reader.u8();
    const auto part = static_cast<Part>(number);
    std::optional<uint32_t> index;
    if (part == Part::kCall || part == Part::kCompensation) index = reader.u32();
    if (!reader.done() || number >= kPartCount) {
      add(StoreFault::kRowKey, place,
          "the key is not a namespace, an instance and one of its parts");
      return;
    }
    if (purged_.contains(ns)) return;
    if (part == Part::kCompensation) return check_place_of_compensation(place, ns, id);
    constexpr size_t kPrefixSize = 4 + 16;
    if (key.substr(0, kPrefixSize) != one.prefix) {
      finish(one);
      one = {.table = table, .prefix = std::string(key.substr(0, kPrefixSize)), .ns = ns, .id = id};
      one.findings_before = report_.count();
    }
    check_row(one, part, key, value, index);
  });
  if (!is_over()) finish(one);
}

void Checker::check_row(Walked& one, Part part, std::string_view key, std::string_view value,
                        std::optional<uint32_t> index) {
  const Place place{one.table, key};
  one.part_bytes[static_cast<size_t>(part)] += Seal::plain_size(value);
  if (part == Part::kHead) {
    one.has_head = true;
    const auto head = open_and_decode(place, value, decode_head);
    if (!head) return;
    if (head->id != one.id || head->ns != one.ns) {
      add(StoreFault::kInstanceKey, place,
          fmt::format("the head belongs to instance {} in {}", to_string(head->id),
                      name_of(head->ns)));
      return;
    }
    one.head = *head;
    one.head->sealed = Seal::is_sealed(value);
    return check_place(one);
  }
  const bool is_live = one.table == Table::kLive;
  if (!is_live && (part == Part::kSlots || part == Part::kFoundData || part == Part::kCall)) {
    return add(StoreFault::kInstanceParts, place, "only a live instance has this part");
  }
  if (Seal::is_sealed(value) && one.head && !one.head->sealed && part != Part::kCall) {
    add(StoreFault::kInstanceSeal, place, "the row is sealed, but the head is not");
  }
  if (!Seal::is_sealed(value)) one.plain = part;
  if (part == Part::kCall) {
    const auto call = open_and_decode(place, value, decode_call);
    if (call && call->progress) note_minor(kMinorOfProgress, "progress of calls");
    if (*index != one.calls) {
      add(StoreFault::kInstanceParts, place,
          fmt::format("the row of call {}, which must come before this row, is missing",
                      one.calls));
    }
    one.calls = *index + 1;
    one.sealed_calls.push_back(Seal::is_sealed(value));
    if (call && check_call(one, place, *call, *index)) {
      one.read_calls.push_back(*call);
      one.read_calls.back().result = {};
    }
    return;
  }
  if (part == Part::kSlots) {
    const auto slots = open_and_decode(place, value, decode_slots);
    if (!slots) return;
    if (slots->empty()) add(StoreFault::kRowValue, place, "the row has no slots");
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
  one.has_start_event |= part == Part::kStartEvent;
  if (!text) return;
  if (text->empty() && part == Part::kData && !is_live) {
    one.is_data_in_history = true;
    return;
  }
  if (!check_json(*text, place, "the text")) return;
  if (part == Part::kInput && text->front() != '{') {
    add(StoreFault::kRowValue, place, "the input is not an object");
  }
  if (part == Part::kStartEvent && text->front() != '{' && text->front() != '[') {
    add(StoreFault::kRowValue, place, "the starting event is not an object or an array");
  }
  if (part == Part::kInput) one.input = *text;
  if (part == Part::kData) one.data = *text;
}

/// Checks a call. Returns whether it can be compared with the call that its state makes.
bool Checker::check_call(Walked& one, const Place& place, const Call& call, uint32_t index) {
  bool is_right = check_json(call.input.text(), place, "the input");
  is_right &= check_json(call.result.text(), place, "the result");
  if (call.first_at) check_time(*call.first_at, place, "the first attempt of the call");
  if (const char* const wrong = wrong_call(call)) {
    add(StoreFault::kCallState, place, wrong);
    return false;
  }
  if (one.head && one.head->phase == Phase::kLeaving && !has_ended(call)) {
    add(StoreFault::kCallState, place, "the call has not ended, but its instance leaves the state");
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
      if (returns_.contains(place_of(caller))) return is_right;  // a quota refused the task
      add(StoreFault::kCallTask, place, fmt::format("task {} does not exist", what));
      return false;
    }
    const auto task =
        rows::decode(view_, Table::kTasks, rows::key_of(call.id), *value, decode_task);
    if (task && task->caller != caller) {
      add(StoreFault::kCallTask, place, fmt::format("task {} belongs to another call", what));
      return false;
    }
    return is_right;
  }
  const Known child = find(Table::kLive, one.ns, call.id);
  const auto start = starts_.find(call.id);
  if (child.head && child.head->caller != caller) {
    add(StoreFault::kCallChild, place, fmt::format("subflow {} belongs to another call", what));
  } else if (!child.exists && start != starts_.end() && start->second != caller) {
    add(StoreFault::kCallChild, place,
        fmt::format("the instance message that starts subflow {} is that of another call", what));
  } else if (!child.exists && start == starts_.end() && !returns_.contains(place_of(caller))) {
    add(StoreFault::kCallChild, place, fmt::format("subflow {} is not live", what));
  }
  return is_right;
}

void Checker::finish(Walked& one) {
  if (one.prefix.empty()) return;
  if (!one.has_head) {
    add(StoreFault::kInstanceNoHead, {one.table, one.prefix + static_cast<char>(Part::kInput)},
        "the instance has rows, but no head");
  }
  if (!one.head) {
    ++unknown_;
    unsound_.insert(one.id);
    return;
  }
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  if (head.over_bytes) note_minor(1, "heads with the flag 64");
  if (one.has_start_event) note_minor(kMinorOfStartEvents, "rows of starting events");
  if (head.phase == Phase::kLeaving && !head.calls.empty()) {
    note_minor(2, "calls of an instance that leaves its state");
  }
  const auto parts = [&](bool is_there, std::string found) {
    if (!is_there) add(StoreFault::kInstanceParts, place, std::move(found));
  };
  parts(one.has_input, "the input of the instance is missing");
  parts(one.has_failed_data == head.failed_data.has_value(),
        one.has_failed_data
            ? "the instance has data of a failed state, but the head does not mention such data"
            : "the data of the failed state is missing");
  parts(one.calls == head.calls.size(),
        fmt::format("the head has {} calls, but {} rows of calls exist", head.calls.size(),
                    one.calls));
  const auto workflow = definition(head.revision);
  if (workflow != nullptr) check_place_in_workflow(one, *workflow);
  check_status(one);
  read_compensations(one);
  check_compensations(one, workflow.get());
  check_slot(one);
  check_history(one, workflow.get());
  check_started_compensation(one);
  if (one.table == Table::kLive) check_waits(one, workflow.get());
  if (one.table == Table::kLive && workflow != nullptr && workflow->singular) check_singular(one);
  check_relations(one);
  if (report_.count() == one.findings_before) {
    const auto first = first_starts_.emplace(head.revision, head.started_at).first;
    first->second = std::min(first->second, head.started_at);
  }
  note_listen_from(one);
  note_indexed(one);
}

void Checker::check_status(const Walked& one) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const bool is_live = one.table == Table::kLive;
  if (const char* const wrong = is_live ? wrong_live(head) : wrong_ended(head)) {
    add(StoreFault::kInstanceStatus, place, wrong);
  }
  const auto value = [&](bool is_right, std::string found) {
    if (!is_right) add(StoreFault::kRowValue, place, std::move(found));
  };
  value(head.attempt > 0, "the state is in attempt 0, but attempts count from 1");
  value(head.run > 0, "the instance is in run 0, but runs count from 1");
  value(head.first_run > 0 && head.first_run <= head.run,
        fmt::format("the policy counts from run {}, but the instance is in run {}", head.first_run,
                    head.run));
  value(head.entered <= head.step,
        fmt::format("the instance entered its state in step {}, but is in step {}", head.entered,
                    head.step));
  value(head.transitions <= head.step,
        fmt::format("the instance made {} transitions in {} steps", head.transitions, head.step));
  value(head.transitions <= head.history_count,  // a transition has a record, at least `entered`
        fmt::format("the instance made {} transitions, but its history had only {} records",
                    head.transitions, head.history_count));
  // A head that was written in a version before 3 does not have the step of the entry: it is 0.
  const bool has_entry = head.entered > 0 || head.transitions == 0;
  const auto [least, most] = steps_since_entry(head.phase, !is_between_attempts(head));
  const uint64_t made = head.step - std::min(head.step, head.entered);
  value(!has_entry || (made >= least && made <= most) || head.entered > head.step,
        fmt::format("the instance made {} steps since it entered its state in step {}, but its "
                    "phase requires {} to {}",
                    made, head.entered, least, most));
  value(head.depth <= kMaxDepth && (!head.caller || head.depth > 0),
        fmt::format("the instance has depth {} and {}; the depth of a subflow is 1 to {}",
                    head.depth, head.caller ? "a caller" : "no caller", kMaxDepth));
  check_hops(head.hops, place);
  check_utf8(head.idempotency_key, place, "the idempotency key");
  if (!head.own_policy.empty()) check_json(head.own_policy, place, "the policy of its start");
}

/// Checks the relations of an instance to its caller and its idempotency key.
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
          fmt::format("the row of the idempotency key {} does not name this instance",
                      head.idempotency_key));
    }
  }
  if (one.table != Table::kLive || !head.caller) return;
  bool known = true;
  const auto call = waiting_call(one.ns, *head.caller, known);
  const bool is_awaited = call && !call->outside && call->id == one.id;
  if (is_awaited) {
    const uint32_t above = find_live(one.ns, head.caller->instance).head->depth;
    if (head.depth != above + 1) {
      add(StoreFault::kRowValue, place,
          fmt::format("the instance has depth {}, but its caller has depth {}", head.depth, above));
    }
  }
  if (!known || is_awaited || head.cancelling || cancels_.contains(one.id)) return;
  add(StoreFault::kInstanceCaller, place,
      fmt::format("call {} of {} does not wait for this instance", head.caller->index,
                  to_string(head.caller->instance)));
}

}  // namespace millrace
