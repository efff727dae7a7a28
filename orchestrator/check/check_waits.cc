// Checks whether the listeners, timers, calls and slots of a live instance are those that its
// definition requires; check_calls.cc has the checks of one call. The expected values come from the
// engine's own code: the state is entered again on a copy (opened_state.h), and the timers of the
// run are armed again (engine.h).
#include <algorithm>

#include "base/excerpt.h"
#include "matchers/pattern.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/head_rows.h"
#include "states/compensation.h"
#include "states/state.h"

namespace millrace {
namespace {

const char* kind_name(TimerKind kind) {
  static constexpr const char* kNames[] = {
      "state timeout", "delay", "retry", "interrupt", "kill", "run", "execution", "calls", "queue"};
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

/// The deadline of a timer that is armed or held by a pause; nullopt: there is none.
std::optional<TimePoint> deadline_of(const Instance& head, TimerKind kind) {
  for (const auto* const timers : {&head.timers, &head.held_timers}) {
    for (const Timer& timer : *timers) {
      if (timer.kind == kind) return timer.deadline;
    }
  }
  return std::nullopt;
}

bool waits_for_nothing(const Instance& head) {
  return head.listeners.empty() && head.calls.empty() && !deadline_of(head, TimerKind::kDelay) &&
         !deadline_of(head, TimerKind::kRetry);
}

/// The inconsistency in the kinds of timers; nullptr: there is none. An instance that waits for
/// another attempt or run waits for nothing else. The failure of a run leaves only the timer of the
/// execution until the next run, and only that of the kill for `on_failure`. In format 4 the timer
/// of calls was that of retries. In format 3 a timer that was armed during a pause was not held.
const char* wrong_timers(const Instance& head) {
  const auto has = [&](TimerKind kind) { return deadline_of(head, kind).has_value(); };
  const auto counts = [&](TimerKind kind) {
    return std::any_of(head.timers.begin(), head.timers.end(),
                       [&](const Timer& timer) { return timer.kind == kind; });
  };
  const auto is_held_in_pause = [](const Timer& timer) {
    return is_of_state(timer.kind) || timer.kind == TimerKind::kInterrupt ||
           timer.kind == TimerKind::kQueue || timer.kind == TimerKind::kThrottle;
  };
  const bool has_listeners = head.calls.empty() && !head.listeners.empty();
  if (has(TimerKind::kRetry) && (has(TimerKind::kDelay) || has_listeners))
    return "the instance has a timer for a retry, but waits in its state";
  if (head.awaits_run &&
      (counts(TimerKind::kInterrupt) || counts(TimerKind::kKill) || counts(TimerKind::kRun))) {
    return "the instance waits for its next run, but has a timer of a run";
  }
  if (head.failing &&
      (counts(TimerKind::kInterrupt) || counts(TimerKind::kRun) || counts(TimerKind::kExecution))) {
    return "the instance runs `on_failure`, but has a timer that ended with the failure of its run";
  }
  const bool waits = head.phase == Phase::kWaiting;
  if (head.paused && waits && (counts(TimerKind::kDelay) || counts(TimerKind::kStateTimeout)))
    return "the instance is paused, but its delay or its state timeout is not held";
  if (!std::all_of(head.held_timers.begin(), head.held_timers.end(), is_held_in_pause))
    return "the instance holds a timer that counts during a pause, too";
  return nullptr;
}

/// Whether two listeners are equal except for the texts of their attributes, which a jq worker may
/// have evaluated.
bool is_alike(const Listener& one, const Listener& other) {
  const auto names = [](const Listener& listener) {
    std::vector<std::pair<std::string_view, Predicate::Kind>> all;
    for (const Predicate& predicate : listener.filter.predicates) {
      all.emplace_back(predicate.attribute, predicate.kind);
    }
    return all;
  };
  return one.entry == other.entry && one.filter.type == other.filter.type &&
         names(one) == names(other);
}

std::string text_of(const std::vector<Listener>& listeners) {
  std::string text;
  for (const Listener& listener : listeners) {
    if (!text.empty()) text += ", ";
    text += fmt::format("entry {} {}", listener.entry, listener.filter.type);
    for (const Predicate& one : listener.filter.predicates) text += " with " + one.attribute;
  }
  return text.empty() ? "no event" : text;
}

}  // namespace

/// Checks the listeners, timers, calls and slots of a live instance.
void Checker::check_waits(const Walked& one, const Workflow* workflow) {
  check_timers(one, workflow);
  const Instance& head = *one.head;
  if (one.has_found_data && head.phase != Phase::kLeaving) {
    add(StoreFault::kInstanceParts, {one.table, one.key(Part::kFoundData)},
        "the instance has the data at the entry of its state, but does not leave a state");
  }
  const State* const state = workflow == nullptr ? nullptr : state_of(*workflow, head);
  const bool has_state = state != nullptr;
  const bool is_open =
      takes_early_events(head) ||
      (head.phase == Phase::kWaiting && !is_between_attempts(head) && !waits_for_nothing(head));
  if (has_state && takes_early_events(head)) check_takes_early(one, *state);
  if (has_state) check_tasks_of(one, *state);
  if (!has_state || !is_open || !check_opened(one, *state)) {
    check_patterns(one);
  }
}

/// Checks that the state of an instance that takes early events in several steps does so.
void Checker::check_takes_early(const Walked& one, const State& state) {
  if (state.waits().keeps_events && state.looks_back()) return;
  const std::string key = one.key(Part::kHead);
  add(StoreFault::kInstanceStatus, {one.table, key},
      "the instance has listeners, but does not wait");
}

/// Whether the instance waits for another attempt of its state, or for its next run.
bool Checker::is_between_attempts(const Instance& head) {
  return head.awaits_run ||
         (head.calls.empty() && head.listeners.empty() && deadline_of(head, TimerKind::kRetry));
}

void Checker::check_timers(const Walked& one, const Workflow* workflow) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const auto has = [&](TimerKind kind) { return deadline_of(head, kind).has_value(); };
  const auto has_twice = [](const std::vector<Timer>& timers) {
    std::set<TimerKind> kinds;
    return !std::all_of(timers.begin(), timers.end(),
                        [&](const Timer& timer) { return kinds.insert(timer.kind).second; });
  };
  const bool waits = head.phase == Phase::kWaiting;
  bool is_wrong = false;
  const auto wrong = [&](std::string found) {
    if (!is_wrong) add(StoreFault::kInstanceTimers, place, std::move(found));
    is_wrong = true;
  };
  if (has_twice(head.timers) || has_twice(head.held_timers)) {
    wrong("the instance has two timers of one kind");
  } else if (!waits && (has(TimerKind::kDelay) || has(TimerKind::kRetry))) {
    wrong("the instance has a timer for a delay or a retry, but does not wait");
  } else if (head.calls.empty() && has(TimerKind::kCalls)) {
    wrong("the instance has a timer for calls, but no calls");
  } else if (head.awaits_run && !has(TimerKind::kRetry)) {
    wrong("the instance waits for its next run, but has no timer for that run");
  } else if (!head.paused && !head.held_timers.empty()) {
    wrong("the instance has timers that only a paused instance has, but is not paused");
  } else if (const char* const inconsistency = wrong_timers(head)) {
    wrong(inconsistency);
  } else if (one.due && !head.paused) {
    // In format 4 the timer of calls was the timer of retries.
    const bool is_in_time =
        std::any_of(head.timers.begin(), head.timers.end(), [&](const Timer& timer) {
          return (timer.kind == TimerKind::kCalls || timer.kind == TimerKind::kRetry) &&
                 timer.deadline <= *one.due;
        });
    if (!is_in_time)
      wrong(
          "a deadline or retry of a call is earlier than the timer for calls, or that timer is "
          "missing");
  }
  const bool is_stuck = waits && waits_for_nothing(head);
  if (is_stuck) {
    add(StoreFault::kInstanceStuck, place, "the instance waits for no event, no timer and no call");
  }
  if (is_queued(head) != has(TimerKind::kQueue)) {
    const bool needs = is_queued(head) && workflow != nullptr && workflow->concurrency &&
                       workflow->concurrency->timeout;
    if (needs || !is_queued(head)) {
      wrong("the timer for the wait for a slot does not match the wait of the instance");
    }
  }
  if (is_throttled(head) != has(TimerKind::kThrottle)) {
    const bool needs = is_throttled(head) && workflow != nullptr && workflow->throttle &&
                       workflow->throttle->timeout;
    if (needs || !is_throttled(head)) {
      wrong("the timer for the wait for the throttle does not match the wait of the instance");
    }
  }
  if (is_wrong || is_stuck || workflow == nullptr || !one.story || !time_) return;
  if (waits_to_start(head)) return;  // no other timer counts before its first run
  if (head.compensating) {           // nothing but its calls has a time
    const auto is_of_calls = [](const Timer& timer) { return timer.kind == TimerKind::kCalls; };
    if (!std::all_of(head.timers.begin(), head.timers.end(), is_of_calls)) {
      wrong("the instance makes its compensations, but has a timer that does not belong to a call");
    }
    return;
  }
  check_run_timers(one, *workflow, wrong);
  if (is_wrong) return;

  const bool is_between = waits && is_between_attempts(head);
  if (is_between && !one.story->retrying && !one.is_trimmed()) {
    wrong(
        "the instance waits for another attempt or run, but its history has no record `retrying`");
  } else if (is_between && one.story->retrying) {
    // The detail is {"attempt", "at"} for an attempt of the state, {"run", "at"} for a run.
    const auto detail = parse_own_json(one.story->retrying->detail.text());
    if (!detail || !detail->is_object()) return;
    const std::string at = format_rfc3339(*deadline_of(head, TimerKind::kRetry));
    if (detail->contains("run") != head.awaits_run) {
      wrong(head.awaits_run ? "the instance waits for its next run, but its history says that it "
                              "waits for another attempt"
                            : "the history says that the instance waits for its next run, but the "
                              "instance does not");
    } else if (const Json noted = detail->value("at", Json(at)); noted != at) {
      wrong(fmt::format("the retry of the instance is due at {}, but its history says {}", at,
                        excerpt(dump_json(noted))));
    }
  }
  if (is_wrong || head.state >= workflow->states.size()) return;
  const StateCommon& state = workflow->states[head.state]->common();
  const auto& timeout = state.timeout ? state.timeout : head.state_timeout;
  const auto at = deadline_of(head, TimerKind::kStateTimeout);
  const bool may_have = head.phase != Phase::kLeaving && !is_between && !head.cancelling;
  // While the instance enters the state, no record shows when the attempt started.
  const TimePoint armed = waits ? no_later(one.story->state_armed) : *time_;
  const auto slack = [&](TimePoint from) {
    return timeout->months == 0 ? Duration(0) : slack_from(from);
  };
  if (may_have && state.evaluated_timeout && !timeout) {
    // An `until`, or a timeout that is not evaluated yet: only the instance knows the time.
    if (waits && !at) wrong("the state has a timeout, but the instance has no timer for it");
  } else if (!timeout || !may_have) {
    if (at) wrong("the instance has a timer for a state timeout, but no state timeout applies");
  } else if (!at) {
    wrong(
        fmt::format("the state has a timeout of {}, but the instance has no timer for this timeout",
                    state.timeout ? timeout->text : "jq(…)"));
  } else if (*at < timeout->after(head.state_from) - slack(head.state_from) ||
             *at > timeout->after(armed) + slack(armed)) {
    wrong(fmt::format(
        "the state timeout is at {} ms, which does not match the entry into the state at {} to {} "
        "ms",
        to_millis(*at), to_millis(head.state_from), to_millis(armed)));
  }
}

/// The time at which something happened at the latest: `recorded`, or the store's time if no record
/// has it.
TimePoint Checker::no_later(const std::optional<TimePoint>& recorded) const {
  return std::min(recorded.value_or(*time_), *time_);
}

/// Checks the timers of the run and of the execution.
void Checker::check_run_timers(const Walked& one, const Workflow& workflow,
                               const std::function<void(std::string)>& wrong) {
  const Instance& head = *one.head;
  if (!one.story->began) return;
  const std::vector<Timer> demanded = timers_of_run(workflow, head, one.story->began->time);
  for (const TimerKind kind :
       {TimerKind::kInterrupt, TimerKind::kKill, TimerKind::kRun, TimerKind::kExecution}) {
    const auto is_kind = [&](const Timer& timer) { return timer.kind == kind; };
    const auto found = std::find_if(demanded.begin(), demanded.end(), is_kind);
    const auto at = deadline_of(head, kind);
    if (found == demanded.end()) {
      if (at) {
        wrong(fmt::format("the instance has a timer `{}`, but its definition has no such timeout",
                          kind_name(kind)));
      }
      continue;
    }
    if (at && *at != found->deadline) {
      wrong(fmt::format("the timer `{}` is at {} ms, expected at {} ms", kind_name(kind),
                        to_millis(*at), to_millis(found->deadline)));
    }
    if (at) continue;
    // While `on_failure` runs, no timer is required: only `kill` may continue, if the run had this
    // timer.
    bool is_demanded = !head.failing;
    if (kind != TimerKind::kExecution) is_demanded &= !head.awaits_run;
    // The timer `interrupt` fires once, as an error. `interrupt` is not required while a cancelled
    // instance waits for its tasks.
    if (kind == TimerKind::kInterrupt) is_demanded &= !head.cancelling && found->deadline > *time_;
    if (is_demanded) {
      wrong(fmt::format("the timer `{}`, due at {} ms, is missing", kind_name(kind),
                        to_millis(found->deadline)));
    }
  }
}

/// Checks that each pattern of the listeners is a regular expression.
void Checker::check_patterns(const Walked& one) {
  for (const Listener& listener : one.head->listeners) {
    for (const Predicate& predicate : listener.filter.predicates) {
      if (predicate.kind != Predicate::Kind::kPattern) continue;
      const auto compiled = Pattern::compile(predicate.text);
      if (compiled) continue;
      // The finding does not show the pattern, which may contain a secret.
      add(StoreFault::kInstanceListeners, {one.table, one.key(Part::kHead)},
          fmt::format("entry {} compares attribute {} with a pattern that is not a regular "
                      "expression",
                      listener.entry, predicate.attribute));
    }
  }
}

/// Compares the instance with what its state requires. Returns whether the listeners are exactly
/// those that the state requires.
bool Checker::check_opened(const Walked& one, const State& state) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  if (!one.input || !time_) return false;
  auto input = parse_own_json(*one.input);
  auto data = one.data ? parse_own_json(*one.data) : input;
  if (!input || !data || (one.has_data && !one.data)) return false;
  const LazyJson as_input(std::move(*input));
  const LazyJson as_data(std::move(*data));
  const Compensation* const newest = one.newest_compensation();
  const auto open_at = [&](TimePoint at) {
    return open_state(state, head, as_data, as_input, at, newest);
  };
  const auto opened = open_at(head.state_from);
  if (!opened) {
    const auto types = state.awaited_types();
    for (const Listener& listener : head.listeners) {
      if (std::find(types.begin(), types.end(), listener.filter.type) != types.end()) continue;
      add(StoreFault::kInstanceListeners, place,
          fmt::format("the instance listens for {}, but its state does not listen for this type",
                      listener.filter.type));
      break;
    }
    return false;
  }

  const auto delay = deadline_of(head, TimerKind::kDelay);
  if (opened->delay.has_value() != delay.has_value()) {
    add(StoreFault::kInstanceTimers, place,
        delay ? "the instance has a timer for a delay, but its state has no delay"
              : "the state has a delay, but the instance has no timer for the delay");
  } else if (delay && !state.waits().is_evaluated) {
    const bool has_entry = one.story && one.story->entered;
    const TimePoint entered =
        no_later(has_entry ? std::optional(one.story->entered->time) : std::nullopt);
    const auto latest = open_at(entered);
    const Duration slack = has_entry ? Duration(0) : slack_from(entered);  // it begins at the entry
    if (*delay < *opened->delay - slack_from(head.state_from) ||
        (latest && *delay > *latest->delay + slack)) {
      add(StoreFault::kInstanceTimers, place,
          fmt::format("the delay ends at {} ms, which does not match the state: by the state it "
                      "ends at {} ms or later, and by the history at {} ms or earlier",
                      to_millis(*delay), to_millis(*opened->delay),
                      to_millis((latest ? *latest : *opened).delay.value_or(*delay))));
    }
  }

  bool is_same = false;
  if (one.slots.size() != opened->slots) {
    add(StoreFault::kInstanceParts, place,
        fmt::format("the state waits for {} events, but the instance has {} slots (part 3)",
                    opened->slots, one.slots.size()));
  } else {
    std::vector<Listener> expected = opened->listeners;
    std::erase_if(expected, [&](const Listener& listener) {
      return listener.entry < one.slots.size() && one.slots[listener.entry];
    });
    const bool fits = opened->is_exact ? head.listeners == expected
                                       : std::equal(head.listeners.begin(), head.listeners.end(),
                                                    expected.begin(), expected.end(), is_alike);
    is_same = fits && opened->is_exact;
    if (!fits) {
      const std::string found = text_of(head.listeners);
      const std::string wanted = text_of(expected);
      add(StoreFault::kInstanceListeners, place,
          found == wanted
              ? fmt::format("the instance listens for {}, but the text of an attribute is not "
                            "the one that its state computes from its data",
                            found)
              : fmt::format("the instance listens for {}, but its state listens for {}", found,
                            wanted));
    }
  }

  // An instance that was cancelled while it made its calls lacks some of them.
  const bool lacks_some = head.cancelling && head.calls.size() < opened->calls.size();
  if (opened->calls.size() != head.calls.size() && !lacks_some) {
    add(StoreFault::kInstanceParts, place,
        fmt::format("the instance has {} calls, but its state makes {}", head.calls.size(),
                    opened->calls.size()));
    return is_same;
  }
  if (one.read_calls.size() != head.calls.size()) return is_same;
  const bool has_deadlines =
      std::any_of(one.read_calls.begin(), one.read_calls.end(), [](const Call& call) {
        return std::any_of(call.deadlines.begin(), call.deadlines.end(),
                           [](const auto& deadline) { return deadline.has_value(); });
      });
  const TimePoint armed = no_later(one.story ? one.story->calls_armed : std::nullopt);
  std::optional<OpenedState> now;
  std::optional<OpenedState> recorded;
  if (has_deadlines) {
    now = open_at(*time_);
    recorded = open_at(armed);
  }
  for (uint32_t index = 0; index < one.read_calls.size(); ++index) {
    const auto effect = opened->started.find(index);
    const bool starts = effect != opened->started.end();  // if not, another call starts first
    const Effect* const started = starts ? &effect->second : nullptr;
    check_secrets_of(one, index, opened->calls[index]);
    if (opened->is_exact) check_call_input(one, index, opened->calls[index], started);
    check_call_deadlines(
        one, index,
        now && recorded ? latest_deadlines(one.read_calls[index], index, state, *now, *recorded)
                        : Deadlines());
    if (!starts) {
      const Effect* const like = started_like(*opened, state, index);
      const auto* const action = like == nullptr ? nullptr : std::get_if<StartTask>(like);
      check_action_of(one, index, action, opened->calls[index].input,
                      opened->is_exact && !opened->calls[index].sealed);
      continue;
    }
    check_opened_call(one, index, opened->calls[index], *started, opened->is_exact);
  }
  return is_same;
}

}  // namespace millrace
