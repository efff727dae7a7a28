// Checks of the instance against its history: how the instance started, its error, its flags, its
// times and attempts, its state and its data. check_history.cc reads the rows of the history.
#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/record_detail.h"
#include "orchestrator/check/walked.h"
#include "states/state.h"
#include "states/visit.h"

namespace millrace {
namespace {

bool is_of_retry(const HistoryRecord& record) {
  return record.detail.text() == R"({"how":"retry"})";
}

/// Whether a definition with this start can be started by an event of that type.
bool starts_by(const Start& start, const std::string& type) {
  return std::any_of(start.events.begin(), start.events.end(),
                     [&](const StartEvent& event) { return event.filter.type == type; });
}

}  // namespace

/// Notes the facts of one record. All later records have been noted already.
void Checker::note_record(Walked& one, const Place& place, const HistoryRecord& record) {
  using enum HistoryKind;
  HistoryFacts& story = *one.story;
  const Instance& head = *one.head;
  const bool arms_state = record.kind == kEntered || record.kind == kResumed;
  if (arms_state && !story.state_armed) story.state_armed = record.time;
  if ((arms_state || record.kind == kCalled) && !story.calls_armed) {
    story.calls_armed = record.time;
  }
  switch (record.kind) {
    case kStarted:
      story.started = record;
      return note_pause(one, place, record.kind);
    case kEntered:
    case kUndoing:
      return note_trail(one, place, record);
    case kWoken:
      story.has_wake = true;
      return;
    case kPublished:
      return check_published(record);
    case kPaused:
      return note_pause(one, place, record.kind);
    case kResumed:
    case kEnded:
      return note_pause(one, place, record.kind);
    case kCancelled:
      note_pause(one, place, record.kind);
      if (!story.began) story.is_cancelled = true;
      return note_failure_of(one, record);
    case kRaised:
    case kFixed:
      return note_failure_of(one, record);
    case kRevived:
      note_pause(one, place, record.kind);
      if (!story.revived) {
        story.revived = record.time;
        story.runs_since_revival = story.runs;
      }
      story.has_retry |= is_of_retry(record);
      story.has_execution_start |= record.time == head.execution_from;
      return;
    case kContinued:
      return note_continued(one, place, record);
    case kRun: {
      // The later records began `story.runs` runs.
      const auto run = RecordDetail(record).number("run");
      if (run && *run + story.runs != head.run) {
        add(StoreFault::kRowValue, place,
            fmt::format("a record begins run {}, but {} runs follow and the instance is in run {}",
                        *run, story.runs, head.run));
      }
      return;
    }
    case kRetrying: {
      const RecordDetail detail(record);
      story.most_attempt = std::max(story.most_attempt, detail.number("attempt").value_or(0));
      const auto run = detail.number("run");
      if (run && *run + story.runs != uint64_t{head.run} + 1) {
        add(StoreFault::kRowValue, place,
            fmt::format("by a record run {} comes next, but {} runs follow and the instance is in "
                        "run {}",
                        *run, story.runs, head.run));
      }
      note_trail(one, place, record);
      return note_call(one, record);
    }
    case kCalled:
    case kReturned:
    case kTimedOut:
      note_trail(one, place, record);
      return note_call(one, record);
    case kSkipped:
      return note_call(one, record);
    default:
      return;
  }
}

/// Notes a record that ends a run by `continueAsNew`: it is the first record of the next run, from
/// which the workflow's `retries` count. The later records began `story.runs` runs.
void Checker::note_continued(Walked& one, const Place& place, const HistoryRecord& record) {
  HistoryFacts& story = *one.story;
  const Instance& head = *one.head;
  const RecordDetail detail(record);
  const auto run = detail.number("run");
  if (run && *run + 1 + story.runs != head.run) {
    add(StoreFault::kRowValue, place,
        fmt::format("a record ends run {}, but {} runs follow the next one and the instance is in "
                    "run {}",
                    *run, story.runs, head.run));
  }
  const auto revision = detail.number("nextRevision");
  if (revision && *revision != head.revision.number) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the instance has revision {}, but by its history this run began with revision "
                    "{}",
                    head.revision.number, *revision));
  }
  if (!story.revived) {
    story.revived = record.time;
    story.runs_since_revival = story.runs;
  }
}

/// Notes a record that has an error.
void Checker::note_failure_of(Walked& one, const HistoryRecord& record) {
  HistoryFacts& story = *one.story;
  const Instance& head = *one.head;
  story.has_failed_state |= record.state == head.failed_state;
  story.has_many_transitions |= RecordDetail(record).text("code") == "millrace.limits.transitions";
  if (!head.error || (story.has_error && record.kind != HistoryKind::kFixed)) return;
  const RecordDetail detail(record);
  const bool is_its_error =
      detail.text("code") == head.error->code && detail.text("msg") == head.error->message;
  story.has_error |= is_its_error;
  story.has_fixed_error |= is_its_error && record.kind == HistoryKind::kFixed;
}

/// Compares the position of a record kEntered with that of the next such record, or with that of
/// the head. An instance that has once listened from an event with a stream never again listens
/// from an event without one: events without a stream were stored by an earlier format.
void Checker::note_stream(Walked& one, const EventPosition& position) {
  HistoryFacts& story = *one.story;
  const bool is_last = !story.entered_stream;
  const uint32_t later = story.entered_stream.value_or(one.head->listen_from.event.stream);
  story.entered_stream = position.stream;
  if (later != 0 || position.stream == 0) return;
  const std::string key = one.key(Part::kHead);
  add(StoreFault::kRowValue, {one.table, key},
      fmt::format("{} has stream 0, but an earlier record `entered` has stream {}",
                  is_last ? "the position of listen-from" : "the position of a record `entered`",
                  position.stream));
}

/// Compares the instance with the facts from its history.
void Checker::check_story(const Walked& one, const Workflow* workflow) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const HistoryFacts& story = *one.story;
  const bool is_trimmed = one.is_trimmed();
  if (story.is_first_sealed && one.plain && !is_trimmed) {
    const std::string part_key = one.key(*one.plain);
    add(StoreFault::kInstanceSeal, {one.table, part_key},
        "the row is not sealed, but its instance was sealed from the first batch on");
  }
  if (!one.has_data && story.has_other_data) {
    add(StoreFault::kInstanceParts, place,
        "the data of the instance is missing: a record of its history has data that is not the "
        "input");
  }
  if (story.runs != head.run && !is_trimmed) {
    add(StoreFault::kRowValue, place,
        fmt::format("the instance is in run {}, but its history has {} runs", head.run,
                    story.runs));
  }
  if (head.retried && !story.has_retry && !is_trimmed) {
    add(StoreFault::kInstanceStatus, place,
        "the flag `retried` (16) is set, but no operator retried the instance");
  }
  check_start(one, workflow);
  check_failure(one);
  check_times(one);
  // The records of compensations are those of other states than the one in which the run ends.
  const bool compensates = head.compensating || story.has_compensated;
  if (!compensates) check_entry(one);
  if (one.table == Table::kLive && head.compensating) {
    check_call_facts(one);
    check_call_seals(one);
    return;
  }
  if (one.table == Table::kLive) {
    check_flags(one, workflow);
    check_newest(one, workflow);
    check_call_facts(one);
    check_call_seals(one);
  }
  if (workflow == nullptr || head.state >= workflow->states.size()) return;
  const std::string& state = workflow->states[head.state]->common().id;
  const auto in_another = [&](const std::string& last) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the instance is in state \"{}\", but its history ends in state \"{}\"", state,
                    last));
  };
  if (!compensates) check_steps(one, *workflow);
  if (one.table == Table::kEnded) {
    if (story.last_state != state) in_another(story.last_state);
    return;
  }
  const bool is_open = head.phase == Phase::kWaiting && !is_between_attempts(head);
  if (is_open && !story.entered && story.newest && !is_trimmed) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the instance waits in state \"{}\", but its history has no record `entered`",
                    state));
  }
  if (!is_open || !story.entered) return;
  if (story.entered->state != state) return in_another(story.entered->state);
  if (!story.entered_with_input && !story.entered->data) {
    add(StoreFault::kInstanceParts, place,
        "the instance waits in its state, but the record `entered` has no data");
  }
  if (!one.input || (one.has_data && !one.data)) return;
  const std::string& data = one.data ? *one.data : *one.input;
  const std::string* found = nullptr;
  if (story.entered_with_input) found = &*one.input;
  if (story.entered->data) found = &story.entered->data->text();
  if (found != nullptr && *found != data) {
    add(StoreFault::kInstanceParts, place,
        "the data of the instance is not the data with which, by its history, it entered its "
        "state");
  }
}

/// Checks the transitions and the step of the entry of an instance that has left a state.
void Checker::check_steps(const Walked& one, const Workflow& workflow) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const HistoryFacts& story = *one.story;
  const std::string& state = workflow.states[head.state]->common().id;
  // An instance whose input cannot be read ends before its next run enters a state: it is then in
  // the last state of the run before, which an operator may have started in any state.
  const bool is_unread =
      one.table == Table::kEnded && head.error && head.error->code == kDamagedStore;
  if (story.began && story.began->kind != HistoryKind::kRevived && head.transitions == 0 &&
      head.state != workflow.start.state && !is_unread) {
    add(StoreFault::kRowValue, place,
        fmt::format(
            "the instance is in state \"{}\", which is not its first state, but made no transition",
            state));
  }
  // A head that was written in a version before 3 has step 0. A release that writes the stream of
  // an entry also writes the step of each later entry. The state that an instance fails in because
  // of too many transitions is not entered.
  if (head.entered > 0 || !story.has_entry_elsewhere || story.has_many_transitions) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the instance entered state \"{}\" in step 0, but it had entered another state "
                  "before",
                  state));
}

/// Compares the head with the record of the start, if that record was not trimmed.
void Checker::check_start(const Walked& one, const Workflow* workflow) {
  if (!one.story->started) return;
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const RecordDetail detail(*one.story->started);
  const auto revision = detail.number("revision");
  if (revision && *revision != head.revision.number) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the instance has revision {}, but by its history it started with revision {}",
                    head.revision.number, *revision));
  }
  const auto by = detail.text("by");
  if (!by) return;
  const bool is_event = *by == "event";
  const bool is_schedule = *by == "schedule";
  const bool is_subflow = *by == "subflow";
  const auto wrong = [&](std::string_view found) {
    add(StoreFault::kInstanceStatus, place,
        fmt::format("by its history the instance was started by \"{}\", but {}", excerpt(*by),
                    found));
  };
  // check_history_row() reports a start of an unknown kind.
  if (!is_event && !is_schedule && !is_subflow && *by != "call") return;
  if (head.caller && !is_subflow) wrong("the head has a caller");
  const auto parent = detail.text("parent");
  if (head.caller && parent && *parent != to_string(head.caller->instance)) {
    wrong(fmt::format("instance {}, which started it, is not the caller {} in the head",
                      excerpt(*parent), to_string(head.caller->instance)));
  }
  if (!head.caller && head.depth > 0 && !one.story->revived) {  // a new run has no caller
    add(StoreFault::kRowValue, place,
        fmt::format("the instance has depth {} and no caller, and no operator began a run of it",
                    head.depth));
  }
  if (*by != "call" && !(head.idempotency_key.empty() && head.own_policy.empty())) {
    wrong("the head has an idempotency key or a policy of its own, which only a call gives");
  }
  if (!is_event && !(head.traceparent.empty() && head.correlation.empty())) {
    wrong("the head has a traceparent or a correlation, which only an event gives");
  }
  if (!is_event && one.has_start_event) {
    wrong("it has a starting event, but no event started it");
  }
  if (head.hops > 0 && !is_event && !is_subflow && !one.story->has_wake) {
    wrong(fmt::format("the head has {} hops, which only an event or a caller gives", head.hops));
  }
  if (workflow == nullptr) return;
  const Start& start = workflow->start;
  const auto type = detail.text("event", "type");
  if (is_event && type && !starts_by(start, *type)) {
    wrong(fmt::format("its definition does not start by an event of type {}", excerpt(*type)));
  }
  if (is_schedule && start.kind != Start::Kind::kScheduled) {
    wrong("its definition has no schedule");
  }
}

/// Checks the error, the failed state and the attempts of a head whose history is complete: each of
/// them has a record.
void Checker::check_failure(const Walked& one) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const HistoryFacts& story = *one.story;
  if (one.is_trimmed()) return;
  // A record cannot have the bytes of an error that is not UTF-8. The message may contain a secret,
  // so the finding does not show it.
  if (head.error && !story.has_error && is_utf8(head.error->code) && is_utf8(head.error->message)) {
    add(StoreFault::kInstanceStatus, place,
        fmt::format("no record of the history has the error of the head, with the code {} and the "
                    "same message",
                    excerpt(head.error->code)));
  }
  if (!head.failed_state.empty() && !story.has_failed_state) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the failed state is \"{}\", but the history has no error in that state",
                    head.failed_state));
  }
  for (const auto& [attempt, what] : {std::pair(head.attempt, "the state is in"),
                                      std::pair(head.failed_attempt, "the failed state was in")}) {
    if (attempt <= story.most_attempt) continue;
    add(StoreFault::kRowValue, place,
        fmt::format("{} attempt {}, but by the history the highest attempt is {}", what, attempt,
                    story.most_attempt));
  }
}

/// Checks that a live instance that waits in its state does not have a newest record after which it
/// does not wait so. In a state that keeps events, an instance waits until all events have come.
void Checker::check_newest(const Walked& one, const Workflow* workflow) {
  const Instance& head = *one.head;
  const HistoryFacts& story = *one.story;
  const auto is_delay = [](const Timer& timer) { return timer.kind == TimerKind::kDelay; };
  // An instance that waits for nothing is stuck, which check_timers() reports.
  const bool waits = !head.listeners.empty() || !head.calls.empty() ||
                     std::any_of(head.timers.begin(), head.timers.end(), is_delay) ||
                     std::any_of(head.held_timers.begin(), head.held_timers.end(), is_delay);
  const bool is_open = head.phase == Phase::kWaiting && !is_between_attempts(head) && waits;
  if (!is_open || !story.newest_kind || workflow == nullptr) return;
  if (head.state >= workflow->states.size()) return;
  const bool keeps_events = workflow->states[head.state]->waits().keeps_events;
  const HistoryKind kind = *story.newest_kind;
  const bool has_left = kind == HistoryKind::kElapsed || kind == HistoryKind::kRetrying ||
                        (kind == HistoryKind::kWoken && !keeps_events);
  if (!has_left) return;
  const std::string key = one.key(Part::kHead);
  add(StoreFault::kInstanceStatus, {one.table, key},
      fmt::format("the instance waits in its state, but its newest record `{}` ends that wait",
                  to_string(kind)));
}

/// Notes a record that begins or ends a pause, or ends the instance. Only a pause can be resumed.
void Checker::note_pause(Walked& one, const Place& place, HistoryKind kind) {
  HistoryFacts& story = *one.story;
  if (!story.is_paused) story.is_paused = kind == HistoryKind::kPaused;
  if (story.is_resumed && kind != HistoryKind::kPaused) {
    add(StoreFault::kHistoryOrder, place,
        fmt::format("a record `resumed` follows a record `{}`, but the instance was not paused",
                    to_string(kind)));
  }
  story.is_resumed = kind == HistoryKind::kResumed;
}

/// Checks the flags of a live instance.
void Checker::check_flags(const Walked& one, const Workflow* workflow) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const HistoryFacts& story = *one.story;
  const bool is_trimmed = one.is_trimmed();
  const auto check = [&](bool is_right, std::string_view found) {
    if (!is_right) add(StoreFault::kInstanceStatus, place, std::string(found));
  };
  if (story.is_paused) {
    check(head.paused == *story.is_paused,
          head.paused ? "the instance is paused, but its history has no pause that has not ended"
                      : "the instance is not paused, but its history has a pause that has not "
                        "ended");
  }
  const bool knows_run = story.began || !is_trimmed;
  check(head.cancelling || !story.is_cancelled,
        "the history says that the instance was cancelled, but the instance continues");
  check(!head.cancelling || story.is_cancelled || !knows_run,
        "the instance is being cancelled, but its history has no record of that");
  // A live instance has an error from an Error state, or because it failed or was cancelled.
  const bool has_failed = head.error && story.has_error && !story.has_fixed_error;
  check(is_trimmed || !has_failed || head.failing || head.cancelling,
        "the instance continues after an error that no Error state has set, but the flag `failing` "
        "(2) is not set");
  const auto clean_up = workflow == nullptr ? std::nullopt : workflow->timeouts.on_failure;
  check(is_trimmed || !head.failing || !clean_up || head.state == *clean_up || story.has_clean_up,
        "the flag `failing` (2) is set, but the run has not entered `on_failure`");
  const bool is_between = head.phase == Phase::kWaiting && is_between_attempts(head);
  if (!is_between || head.awaits_run || !story.retrying) return;
  const auto next = RecordDetail(*story.retrying).number("attempt");
  if (next && *next != uint64_t{head.attempt} + 1) {
    add(StoreFault::kRowValue, place,
        fmt::format("the instance is in attempt {}, but by its history attempt {} comes next",
                    head.attempt, *next));
  }
}

/// Checks the times of the head, and the run from which its retry policy counts. A head that was
/// written in a version before 5 had none of them: they are then the start of the instance and run
/// 1.
void Checker::check_times(const Walked& one) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const HistoryFacts& story = *one.story;
  const bool is_trimmed = one.is_trimmed();
  // A time after the store's time has a finding already.
  const auto check = [&](TimePoint time, bool is_right, std::string_view what) {
    if (is_right || (time_ && time > *time_)) return;
    add(StoreFault::kInstanceStatus, place,
        fmt::format("{} is at {} ms, which the history does not have", what, to_millis(time)));
  };
  if (is_trimmed && story.oldest) {
    check(head.started_at, head.started_at <= *story.oldest, "the start of the instance");
  }
  if (!is_trimmed && head.execution_from != head.started_at) {
    // The executions of a schedule may count from its first tick.
    const bool is_of_schedule = head.execution_from < head.started_at && story.started &&
                                RecordDetail(*story.started).text("by") == "schedule";
    check(head.execution_from, story.has_execution_start || is_of_schedule,
          "the start of the execution");
  }
  if (story.revived || !is_trimmed) {
    const auto& began = story.revived ? story.revived : story.admitted;
    check(head.runs_from, head.runs_from == head.started_at || head.runs_from == began,
          "the scheduled time of the run from which its retries count");
    const bool is_first =
        head.first_run == 1 ||
        (story.revived && head.first_run + story.runs_since_revival == uint64_t{head.run});
    if (!is_first) {
      add(StoreFault::kRowValue, place,
          fmt::format("the policy counts from run {}, but no operator began this run",
                      head.first_run));
    }
  }
}

/// Checks the time at which the first attempt of the current or last state was scheduled. A head
/// that was written in a version before 5 did not have it: it is then the start of the instance.
void Checker::check_entry(const Walked& one) {
  const Instance& head = *one.head;
  const HistoryFacts& story = *one.story;
  if (head.state_from == head.started_at || (time_ && head.state_from > *time_)) return;
  const bool is_live = one.table == Table::kLive;
  const bool is_open = is_live && head.phase == Phase::kWaiting && !is_between_attempts(head);
  const bool is_after_entry = is_open && story.entered && story.entered->time >= head.started_at &&
                              head.state_from > story.entered->time;
  const bool is_after_end = head.ended_at && head.state_from > *head.ended_at;
  // An instance whose input cannot be read ends when its next run begins, before that run enters a
  // state. The state that an instance fails in because of too many transitions is not entered.
  const bool is_before_run = story.began && head.state_from < story.began->time &&
                             (is_live || !head.error || head.error->code != kDamagedStore);
  const bool is_before_another =
      story.elsewhere && head.state_from < *story.elsewhere && !story.has_many_transitions;
  if (!is_after_entry && !is_after_end && !is_before_run && !is_before_another) return;
  const std::string key = one.key(Part::kHead);
  add(StoreFault::kInstanceStatus, {one.table, key},
      fmt::format("the entry into the state is at {} ms, which the history does not have",
                  to_millis(head.state_from)));
}

}  // namespace millrace
