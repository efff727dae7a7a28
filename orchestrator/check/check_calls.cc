// Checks of the calls of a live instance: against the history, and against the calls, tasks and
// timeouts of its state, which is entered again on a copy (opened_state.h).
#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/record_detail.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The key of the row of a call; `prefix` is the key of the part.
std::string row_of_call(const std::string& prefix, uint32_t index) {
  Writer key;
  key.raw(prefix);
  key.u32(index);
  return key.take();
}

/// Whether the task ends before the kill, the run and the execution of its instance end. These
/// timers do not change during a run.
bool fits_timers(const StartTask& task, const Instance& head) {
  return std::all_of(head.timers.begin(), head.timers.end(), [&](const Timer& timer) {
    const bool bounds_tasks = timer.kind == TimerKind::kKill || timer.kind == TimerKind::kRun ||
                              timer.kind == TimerKind::kExecution;
    return !bounds_tasks || (task.deadline && *task.deadline <= timer.deadline);
  });
}

/// Whether the task ends before `deadline`, a timeout that may have restarted since the task began,
/// and that may end by `slack` earlier then.
bool fits_timeout(const StartTask& task, const std::optional<TimePoint>& deadline, Duration slack) {
  return !deadline || (task.deadline && *task.deadline <= *deadline + slack);
}

/// The deadline of the state; nullopt: the state has no timeout, or the instance is paused.
std::optional<TimePoint> state_deadline(const Instance& head) {
  const auto found = std::find_if(head.timers.begin(), head.timers.end(), [](const Timer& timer) {
    return timer.kind == TimerKind::kStateTimeout;
  });
  return found == head.timers.end() ? std::nullopt : std::optional(found->deadline);
}

/// The input with which the state starts a call; null: the effect starts no call.
const LazyJson* input_of(const Effect& started) {
  if (const auto* const task = std::get_if<StartTask>(&started)) return &task->input;
  if (const auto* const child = std::get_if<StartChild>(&started)) return &child->input;
  return nullptr;
}

/// Whether `message` is the complete message of the error of a call. A long message is cut in the
/// call. A message that is not UTF-8 is another one in the history.
bool is_message_of(const Error& error, std::string_view message) {
  if (!is_utf8(error.message)) return true;
  if (message.size() <= kMostCallFailureBytes) return error.message == message;
  constexpr size_t kSurelyKept = kMostCallFailureBytes / 2;
  return error.message.compare(0, kSurelyKept, message.substr(0, kSurelyKept)) == 0;
}

/// Whether the status of a call fits the end of its latest attempt. While the instance is being
/// cancelled, each call that has not succeeded counts as failed, without a record if no task runs
/// for it.
bool fits_end(const Call& call, const CallFacts& facts, bool is_cancelling) {
  using enum Call::Status;
  if (is_cancelling && call.status == kFailed) return true;
  if (!facts.has_succeeded) return !has_ended(call);
  if (*facts.has_succeeded) return call.status == kDone;
  return call.status == kBetween || call.status == kFailed;
}

/// How the latest attempt ended, for findings.
const char* end_of(const CallFacts& facts) {
  if (!facts.has_succeeded) return "has not ended";
  return *facts.has_succeeded ? "has succeeded" : "has failed";
}

}  // namespace

// The history of calls.

/// Compares a call with a record about it. All later records have been compared already, and the
/// latest record of each kind decides. Records before the latest kEntered are about earlier calls.
void Checker::note_call(Walked& one, const HistoryRecord& record) {
  using enum Call::Status;
  const bool are_all_read = one.read_calls.size() == one.head->calls.size();
  if (one.read_calls.empty() || !are_all_read || one.story->entered) return;
  const RecordDetail detail(record);
  const auto index = detail.number("index");  // a detached call has none
  if (!index || *index >= one.read_calls.size()) return;
  one.call_facts.resize(one.read_calls.size());
  CallFacts& facts = one.call_facts[*index];
  const Call& call = one.read_calls[*index];
  const auto wrong = [&](std::string found) {
    const std::string key = row_of_call(one.key(Part::kCall), static_cast<uint32_t>(*index));
    add(StoreFault::kCallState, {one.table, key}, std::move(found));
  };
  const auto attempt = detail.number("attempt");
  const auto code = detail.text("code");
  const bool is_end =
      record.kind == HistoryKind::kReturned || record.kind == HistoryKind::kTimedOut;
  if (is_end && !facts.has_start && !facts.has_succeeded) facts.has_succeeded = !code;
  if (record.kind == HistoryKind::kSkipped) {
    facts.has_skip = true;
  } else if (record.kind == HistoryKind::kCalled) {
    const bool is_earlier = std::exchange(facts.has_start, true);
    if (is_earlier && attempt == uint64_t{1} && call.first_at && *call.first_at != record.time) {
      wrong(fmt::format("the first attempt started at {} ms, but by its history at {} ms",
                        to_millis(*call.first_at), to_millis(record.time)));
    }
    if (is_earlier || !attempt) return;
    const auto id = detail.text(call.outside ? "task" : "instance");
    if (*attempt != call.attempt || id != to_string(call.id)) {
      return wrong(fmt::format(
          "the call is in attempt {} with the id {}, but its history started attempt {} with the "
          "id {}",
          call.attempt, to_string(call.id), *attempt, excerpt(id.value_or("of another kind"))));
    }
    const bool is_first = call.attempt == 1;
    if (call.first_at &&
        (is_first ? *call.first_at != record.time : *call.first_at > record.time)) {
      wrong(
          fmt::format("the first attempt started at {} ms, but by its history attempt {} started "
                      "at {} ms",
                      to_millis(*call.first_at), call.attempt, to_millis(record.time)));
    }
    if (call.status == kBetween && !facts.has_retry) {
      wrong("the call waits for its next attempt, but its history has no such attempt");
    }
  } else if (record.kind == HistoryKind::kRetrying) {
    if (facts.has_start || std::exchange(facts.has_retry, true)) return;
    if (call.status != kBetween && call.status != kFailed) {
      return wrong(
          "the call does not wait for its next attempt, but its history says that it does");
    }
    if (call.status != kBetween || !call.retry_at) return;
    const std::string due = format_rfc3339(*call.retry_at);
    const auto at = detail.text("at");
    if ((attempt && *attempt != uint64_t{call.attempt} + 1) || (at && *at != due)) {
      wrong(
          fmt::format("attempt {} of the call is due at {}, but by its history attempt {} is due "
                      "at {}",
                      call.attempt + 1, due, attempt.value_or(0), excerpt(at.value_or(""))));
    }
  } else if (code) {  // kReturned or kTimedOut
    if (std::exchange(facts.has_failure, true) || !call.last_error) return;
    const Error& error = call.last_error->error;
    const auto message = detail.text("msg");  // a timeout has none
    if (message && !is_message_of(error, *message)) {
      // The message may contain a secret.
      wrong("the message of the call's error is not that of the failed attempt in its history");
    }
    if (*code == error.code && record.time == call.last_error->at) return;
    wrong(
        fmt::format("the previous attempt of the call failed with {} at {} ms, but by its history "
                    "with {} at {} ms",
                    excerpt(error.code), to_millis(call.last_error->at), excerpt(*code),
                    to_millis(record.time)));
  }
}

/// Compares a record about a call with the later records of the same call. From one entry into a
/// state on, the attempts of a call count from 1 without gaps, and each attempt has a start.
void Checker::note_trail(Walked& one, const Place& place, const HistoryRecord& record) {
  std::map<uint64_t, CallTrail>& trails = one.story->trails;
  const auto wrong = [&](std::string found) {
    add(StoreFault::kRowValue, place, std::move(found));
  };
  const bool begins_calls =
      record.kind == HistoryKind::kEntered || record.kind == HistoryKind::kUndoing;
  if (begins_calls) {
    for (const auto& [index, trail] : trails) {
      if (trail.attempt == 0) continue;
      wrong(
          fmt::format("a later record is of attempt {} of call {}, but no record `called` of that "
                      "attempt follows the record `{}`",
                      trail.attempt, index, to_string(record.kind)));
    }
    return trails.clear();
  }
  const RecordDetail detail(record);
  if (record.kind == HistoryKind::kReturned && detail.text("by")) {
    note_minor(kMinorOfAnsweredBy, "answers from outside");
  }
  const auto index = detail.number("index");
  const auto attempt = detail.number("attempt");
  if (!index || !attempt) return;  // a detached call, or a retry of a state or run
  const auto before = [](uint64_t number) { return number - std::min(number, uint64_t{1}); };
  const bool is_start = record.kind == HistoryKind::kCalled;
  // A record `retrying` has the next attempt.
  const uint64_t current = record.kind == HistoryKind::kRetrying ? before(*attempt) : *attempt;
  const auto task = detail.text("task");
  const std::string id = task ? *task : detail.text("instance").value_or("");
  const auto [known, is_latest] = trails.try_emplace(*index);
  CallTrail& trail = known->second;
  if (!is_latest && trail.attempt != current) {
    wrong(fmt::format(
        "a record `{}` is of attempt {} of call {}, but by the later records it "
        "should be of {}",
        to_string(record.kind), current, *index,
        trail.attempt == 0 ? "another call" : fmt::format("attempt {}", trail.attempt)));
    if (!is_start) return;
  } else if (!id.empty() && !trail.id.empty() && id != trail.id) {
    wrong(
        fmt::format("a record `{}` of attempt {} of call {} has the id {}, but a later record of "
                    "that attempt has the id {}",
                    to_string(record.kind), current, *index, excerpt(id), excerpt(trail.id)));
  }
  trail.attempt = is_start ? before(current) : current;
  if (is_start || !id.empty()) trail.id = is_start ? std::string() : id;
}

/// Checks that the history since the entry into the state has the records that the calls require.
void Checker::check_call_facts(const Walked& one) {
  const bool are_all_read = one.read_calls.size() == one.head->calls.size();
  if (!one.story->entered || !are_all_read) return;
  for (uint32_t index = 0; index < one.read_calls.size(); ++index) {
    const Call& call = one.read_calls[index];
    const CallFacts facts = one.call_facts.empty() ? CallFacts() : one.call_facts[index];
    const std::string key = row_of_call(one.key(Part::kCall), index);
    if (call.attempt > 0 && !facts.has_start) {
      add(StoreFault::kCallState, {one.table, key},
          fmt::format("the call is in attempt {}, but its history has no start of it",
                      call.attempt));
    } else if (call.status == Call::Status::kDone && call.attempt == 0 && !facts.has_skip) {
      add(StoreFault::kCallState, {one.table, key},
          "the call is done and has no attempt, but its history did not skip it");
    } else if ((call.attempt > 0 || call.status == Call::Status::kFailed) &&
               !fits_end(call, facts, one.head->cancelling)) {
      add(StoreFault::kCallState, {one.table, key},
          fmt::format("the status of the call does not fit its history, in which attempt {} {}",
                      call.attempt, end_of(facts)));
    } else if (call.last_error && !facts.has_failure) {
      add(StoreFault::kCallState, {one.table, key},
          "the call has the error of an attempt, but its history has no failed attempt");
    }
  }
}

/// Checks that the rows of the calls are sealed if the instance was sealed when it made the calls.
/// A call keeps its row while it does not change, so a row may be older than the seal of the head.
void Checker::check_call_seals(const Walked& one) {
  if (!one.story->is_entry_sealed || one.sealed_calls.size() != one.head->calls.size()) return;
  for (uint32_t index = 0; index < one.sealed_calls.size(); ++index) {
    if (one.sealed_calls[index]) continue;
    const std::string key = row_of_call(one.key(Part::kCall), index);
    add(StoreFault::kInstanceSeal, {one.table, key},
        "the row is not sealed, but its instance was sealed when it entered its state");
  }
}

// The calls that the state makes.

/// Checks that the rows of a call and of its task are sealed if the action of the call reads
/// secrets. `opened` is the call as the state makes it.
void Checker::check_secrets_of(const Walked& one, uint32_t index, const Call& opened) {
  const Call& call = one.read_calls[index];
  if (!opened.sealed) return;
  if (call.attempt > 0 && !call.first_at) return;  // written in format 3
  constexpr const char* kFound = "the row is not sealed, but the action of the call reads secrets";
  if (!one.sealed_calls[index]) {
    const std::string key = row_of_call(one.key(Part::kCall), index);
    add(StoreFault::kInstanceSeal, {one.table, key}, kFound);
  }
  if (call.status != Call::Status::kRunning || !call.outside) return;
  const std::string task = rows::key_of(call.id);
  const auto value = view_.get(Table::kTasks, task);  // check_call() reports a missing row
  if (value && !Seal::is_sealed(*value)) {
    add(StoreFault::kInstanceSeal, {Table::kTasks, task}, kFound);
  }
}

/// Checks that no deadline is before the entry into the state, or later than `latest`.
void Checker::check_call_deadlines(const Walked& one, uint32_t index, const Deadlines& latest) {
  const Call& call = one.read_calls[index];
  const std::string key = row_of_call(one.key(Part::kCall), index);
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    const auto& deadline = call.deadlines[i];
    if (!deadline) continue;
    const auto kind = static_cast<TimeoutKind>(i);
    const bool is_late = latest[i] && *deadline > *latest[i];
    if (*deadline >= one.head->state_from && !is_late) continue;
    add(StoreFault::kCallState, {one.table, key},
        fmt::format("the deadline {} of the call is at {} ms, which is {}", error_code(kind),
                    to_millis(*deadline),
                    is_late ? "later than its timeout allows" : "before the entry into its state"));
  }
}

/// Compares the input of a call with the input that its state computes. `opened` is the call as the
/// state makes it, `started` the effect that starts it; null: another call starts first.
void Checker::check_call_input(const Walked& one, uint32_t index, const Call& opened,
                               const Effect* started) {
  const Call& call = one.read_calls[index];
  // The input is null once no further attempt can need it.
  if (has_ended(call) || call.input.is_null() || opened.sealed) return;
  if (call.attempt > 0 && !call.first_at) return;  // written in format 3
  const LazyJson* const expected = started == nullptr ? &opened.input : input_of(*started);
  const auto input = parse_own_json(call.input.text());
  if (expected == nullptr || !input || *input == expected->value()) return;
  const std::string key = row_of_call(one.key(Part::kCall), index);
  add(StoreFault::kCallState, {one.table, key},
      "the input of the call is not the one that its state computes from its data");
}

/// Compares a call and its task with the call and task that the state makes.
void Checker::check_opened_call(const Walked& one, uint32_t index, const Call& opened,
                                const Effect& started, bool is_exact) {
  using enum Call::Status;
  const Instance& head = *one.head;
  const Call& call = one.read_calls[index];
  const std::string key = row_of_call(one.key(Part::kCall), index);
  const Place place{one.table, key};
  const auto* const task = std::get_if<StartTask>(&started);
  if (call.status != kRunning && call.status != kBetween) return;
  if (!call.first_at) return;  // written in format 3, which had no timeouts of calls
  if (call.outside != (task != nullptr)) {
    add(StoreFault::kCallState, place,
        call.outside ? "the call runs outside millrace, but its function is a subflow"
                     : "the call started a subflow, but its function runs outside millrace");
    return;
  }
  const auto has = [](const Call& one_call, TimeoutKind kind) {
    return one_call.deadlines[static_cast<size_t>(kind)].has_value();
  };
  const auto demand = [&](TimeoutKind kind, bool is_demanded) {
    if (!is_demanded || has(call, kind)) return;
    add(StoreFault::kCallState, place,
        fmt::format("the function has a timeout, but the deadline {} of the call is missing",
                    error_code(kind)));
  };
  const bool runs = call.status == kRunning;
  demand(TimeoutKind::kScheduleToClose,
         has(opened, TimeoutKind::kScheduleToClose) && (runs || !head.retried));
  demand(TimeoutKind::kScheduleToStart,
         has(opened, TimeoutKind::kScheduleToStart) && runs && !call.started);
  demand(TimeoutKind::kStartToClose,
         runs && call.started &&
             (task != nullptr ? task->start_to_close.has_value()
                              : has(opened, TimeoutKind::kStartToClose)));
  demand(TimeoutKind::kHeartbeat, runs && task == nullptr && has(opened, TimeoutKind::kHeartbeat));
  if (!runs || task == nullptr) return;

  check_action_of(one, index, task, task->input, is_exact && !opened.sealed);
  const auto stored = task_of(call);
  if (!stored) return;
  // Without a timeout in the definition, the settings may have changed the timeout of the call.
  const auto whole = has(opened, TimeoutKind::kScheduleToClose)
                         ? call.deadlines[static_cast<size_t>(TimeoutKind::kScheduleToClose)]
                         : std::nullopt;
  const Duration slack = time_ ? slack_between(head.state_from, *time_) : Duration(0);
  if (!fits_timers(*stored, head) || !fits_timeout(*stored, state_deadline(head), slack) ||
      !fits_timeout(*stored, whole, slack)) {
    report_task(one, index, "deadline");
  }
}

// The tasks of calls.

/// The task of a call that runs outside millrace; nullopt: it cannot be read. check_call() reports
/// a missing row, check_tasks() a damaged one.
std::optional<StartTask> Checker::task_of(const Call& call) const {
  const std::string key = rows::key_of(call.id);
  const auto value = view_.get(Table::kTasks, key);
  if (!value) return std::nullopt;
  auto task = rows::decode(view_, Table::kTasks, key, *value, decode_task);
  return task ? std::optional(*std::move(task)) : std::nullopt;
}

void Checker::report_task(const Walked& one, uint32_t index, std::string_view what) {
  const std::string key = rows::key_of(one.read_calls[index].id);
  add(StoreFault::kTaskCaller, {Table::kTasks, key},
      fmt::format("the {} of the task is not that of call {} of {}", what, index,
                  to_string(one.id)));
}

/// Checks what the tasks of the calls have from the instance, whatever their actions are.
void Checker::check_tasks_of(const Walked& one, const State& state) {
  if (one.read_calls.size() != one.head->calls.size()) return;
  for (uint32_t index = 0; index < one.read_calls.size(); ++index) {
    const Call& call = one.read_calls[index];
    if (call.status != Call::Status::kRunning || !call.outside) continue;
    const auto stored = task_of(call);
    if (!stored) continue;
    if (stored->state != state.common().id) report_task(one, index, "state");
    if (stored->attempt != call.attempt) report_task(one, index, "attempt");
    if (stored->workflow != one.head->revision.workflow) report_task(one, index, "workflow");
    if (stored->by != one.id) report_task(one, index, "instance");
  }
}

/// Compares the task of a running call with the action of the call. `action` is a task that this
/// action starts, `input` is the input of the call, which may be compared if `is_exact`.
void Checker::check_action_of(const Walked& one, uint32_t index, const StartTask* action,
                              const LazyJson& input, bool is_exact) {
  const Call& call = one.read_calls[index];
  if (action == nullptr || call.status != Call::Status::kRunning || !call.outside) return;
  const auto stored = task_of(call);
  if (!stored) return;
  if (stored->function != action->function) report_task(one, index, "function");
  if (stored->runs != action->runs) report_task(one, index, "service or container");
  if (stored->files != action->files) report_task(one, index, "list of files");
  if (!is_exact || stored->sealed || call.sealed) return;  // secrets may change
  const auto found = parse_own_json(stored->input.text());
  if (found && *found != input.value()) report_task(one, index, "input");
}

}  // namespace millrace
