// What a living instance waits for: whether its listeners, timers, calls and slots are those that
// its definition asks for. What that is comes from the code that the engine runs: the state is
// entered once more, on a copy, and the timers of a run are armed once more (engine.h).
#include <algorithm>
#include <tuple>

#include "base/excerpt.h"
#include "matchers/pattern.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/head_rows.h"
#include "states/state.h"
#include "states/visit.h"

namespace millrace {
namespace {

const char* kind_name(TimerKind kind) {
  static constexpr const char* kNames[] = {"state timeout", "delay", "retry",     "interrupt",
                                           "kill",          "run",   "execution", "calls"};
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

/// Armed, or held by a pause.
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

/// What a state is given that is entered once more: placeholders for what may have changed since.
class Placeholders final : public Lookup {
 public:
  explicit Placeholders(const LazyJson& input) : input_(input) {}

  Result<std::optional<Variable>> variable(const VariableName&) const override {
    return std::nullopt;
  }
  Result<std::optional<std::string>> secret(NamespaceNumber, std::string_view) const override {
    return std::string();
  }
  Result<LazyJson> input(const Instance&) const override { return input_; }
  const RetryPolicy* default_retries(NamespaceNumber) const override { return nullptr; }
  const ServicePolicy* service_policy(NamespaceNumber, const NamedService&) const override {
    return nullptr;
  }
  std::optional<TimePoint> last_moved(NamespaceNumber, const InstanceId&) const override {
    return std::nullopt;
  }

 private:
  const LazyJson& input_;
};

/// What a state asks for when an instance enters it.
struct Opened {
  std::vector<Listener> listeners;
  size_t slots = 0;
  std::optional<TimePoint> delay;
  std::vector<Call> calls;             ///< all of them; those that start at once have deadlines
  std::map<uint32_t, Effect> started;  ///< of the calls that start at once
  /// Whether all expressions were evaluated. Where a worker has to do that, texts are unknown.
  bool is_exact = true;
};

/// nullopt: with this data, or with what stands in for the values of a worker, it would not wait.
std::optional<Opened> open_state(const State& state, const Instance& head, const LazyJson& data,
                                 const LazyJson& input, TimePoint at) {
  const Placeholders lookup(input);
  const std::vector<Effect> nothing_earlier;
  std::vector<EvaluationResult> results;
  // A list of expressions comes in as many evaluations as it has thousands.
  constexpr size_t kMostEvaluations = 20;
  while (results.size() <= kMostEvaluations) {
    Instance copy{.id = head.id, .space = head.space, .revision = head.revision};
    copy.state = head.state;
    copy.step = head.step;
    copy.entered = head.entered;
    copy.depth = head.depth;
    copy.data = data;
    Visit visit(copy, at, results, lookup, nothing_earlier);
    const Outcome outcome = state.enter(visit);
    std::vector<Effect> effects = visit.take_effects();
    if (std::holds_alternative<Park>(outcome)) {
      EvaluationResult& result = results.emplace_back();
      for (const Effect& effect : effects) {
        const auto* const asked = std::get_if<Evaluate>(&effect);
        if (asked != nullptr) result.assign(asked->evaluation.queries.size(), Json("x"));
      }
      if (result.empty()) return std::nullopt;
      continue;
    }
    if (!std::holds_alternative<Wait>(outcome)) return std::nullopt;
    Opened opened{.listeners = std::move(copy.listeners),
                  .slots = copy.slots.size(),
                  .calls = std::move(copy.calls),
                  .is_exact = results.empty()};
    for (const Timer& timer : copy.timers) {
      if (timer.kind == TimerKind::kDelay) opened.delay = timer.deadline;
    }
    for (Effect& effect : effects) {
      const std::optional<Caller>* caller = nullptr;
      if (const auto* const task = std::get_if<StartTask>(&effect)) caller = &task->caller;
      if (const auto* const child = std::get_if<StartChild>(&effect)) caller = &child->caller;
      if (caller == nullptr || !*caller) continue;
      const uint32_t index = (*caller)->index;
      opened.started.emplace(index, std::move(effect));
    }
    return opened;
  }
  return std::nullopt;
}

/// Of two listeners all but the texts that a worker has evaluated.
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

/// Whatever a living instance waits for.
void Checker::check_waits(const Walked& one, const Workflow* workflow) {
  check_timers(one, workflow);
  const Instance& head = *one.head;
  if (one.has_found_data && head.phase != Phase::kLeaving) {
    add(StoreFault::kInstanceParts, {one.table, one.key(Part::kFoundData)},
        "there is data as the state found it, and the instance does not leave a state");
  }
  const bool has_state = workflow != nullptr && head.state < workflow->states.size();
  const bool is_open =
      head.phase == Phase::kWaiting && !is_between_attempts(head) && !waits_for_nothing(head);
  if (!has_state || !is_open || !check_opened(one, *workflow->states[head.state])) {
    check_patterns(one);
  }
}

/// Whether it waits for another attempt of its state, or for its next run.
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
    wrong("it has two timers of one kind");
  } else if (!waits && (has(TimerKind::kDelay) || has(TimerKind::kRetry))) {
    wrong("it has a timer of a delay or a retry, and does not wait");
  } else if (head.calls.empty() && has(TimerKind::kCalls)) {
    wrong("it has a timer for calls, and no call");
  } else if (head.awaits_run && !has(TimerKind::kRetry)) {
    wrong("it awaits its next run, and has no timer for it");
  } else if (!head.paused && !head.held_timers.empty()) {
    wrong("it has timers that a pause holds, and is not paused");
  } else if (one.due && !head.paused) {
    // Of format 4 that of calls was the one of retries.
    const bool is_in_time =
        std::any_of(head.timers.begin(), head.timers.end(), [&](const Timer& timer) {
          return (timer.kind == TimerKind::kCalls || timer.kind == TimerKind::kRetry) &&
                 timer.deadline <= *one.due;
        });
    if (!is_in_time) wrong("something of its calls is due before its timer, or without one");
  }
  const bool is_stuck = waits && waits_for_nothing(head);
  if (is_stuck) {
    add(StoreFault::kInstanceStuck, place, "it waits for no event, no timer and no call");
  }
  if (is_wrong || is_stuck || workflow == nullptr || !one.story || !time_) return;
  check_run_timers(one, *workflow, wrong);
  if (is_wrong) return;

  const bool is_between = waits && is_between_attempts(head);
  if (is_between && one.story->retrying) {
    // {"attempt", "at"}, or of all of it {"run", "at"}
    const auto detail = parse_own_json(one.story->retrying->detail.text());
    if (!detail || !detail->is_object()) return;
    const std::string at = format_rfc3339(*deadline_of(head, TimerKind::kRetry));
    if (detail->contains("run") != head.awaits_run) {
      wrong(head.awaits_run ? "it awaits its next run, and its history tells of another attempt"
                            : "its history tells of its next run, and it does not await one");
    } else if (const Json told = detail->value("at", Json(at)); told != at) {
      wrong(fmt::format("its retry is due at {}, and its history tells of {}", at,
                        excerpt(dump_json(told))));
    }
  }
  if (is_wrong || head.state >= workflow->states.size()) return;
  const auto& timeout = workflow->states[head.state]->common().timeout;
  const auto at = deadline_of(head, TimerKind::kStateTimeout);
  const bool may_have = head.phase != Phase::kLeaving && !is_between && !head.cancelling;
  if (!timeout || !may_have) {
    if (at) wrong("it has a state timeout, and nothing that could time out");
  } else if (!at) {
    wrong(fmt::format("its state has a timeout of {}, and it has no timer of it", timeout->text));
  } else if (*at < timeout->after(head.state_from) || *at > timeout->after(*time_)) {
    wrong(fmt::format("its state timeout is at {} ms, and the state was entered from {} ms on",
                      to_millis(*at), to_millis(head.state_from)));
  }
}

/// The timers of its run and its execution.
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
        wrong(fmt::format("it has a timer `{}`, and its definition has no such timeout",
                          kind_name(kind)));
      }
      continue;
    }
    if (at && *at != found->deadline) {
      wrong(fmt::format("its timer `{}` is at {} ms, and is due at {} ms", kind_name(kind),
                        to_millis(*at), to_millis(found->deadline)));
    }
    if (at) continue;
    // On the way through `on_failure` only `kill` counts, where the run had it still.
    bool is_demanded = !head.failing;
    if (kind != TimerKind::kExecution) is_demanded &= !head.awaits_run;
    // It fires once, as an error, and does not count for what a cancelled instance lets finish.
    if (kind == TimerKind::kInterrupt) is_demanded &= !head.cancelling && found->deadline > *time_;
    if (is_demanded) {
      wrong(fmt::format("its timer `{}`, due at {} ms, is missing", kind_name(kind),
                        to_millis(found->deadline)));
    }
  }
}

/// Whether each pattern that it listens by is a regular expression.
void Checker::check_patterns(const Walked& one) {
  for (const Listener& listener : one.head->listeners) {
    for (const Predicate& predicate : listener.filter.predicates) {
      if (predicate.kind != Predicate::Kind::kPattern) continue;
      const auto compiled = Pattern::compile(predicate.text);
      if (compiled) continue;
      // Without the pattern: it may hold something of a secret.
      add(StoreFault::kInstanceListeners, {one.table, one.key(Part::kHead)},
          fmt::format("entry {} compares attribute {} with a pattern that is not a regular "
                      "expression",
                      listener.entry, predicate.attribute));
    }
  }
}

/// Compares what it has with what its state asks for; returns whether its listeners are just those.
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
  const auto opened = open_state(state, head, as_data, as_input, head.state_from);
  if (!opened) {
    const auto types = state.awaited_types();
    for (const Listener& listener : head.listeners) {
      if (std::find(types.begin(), types.end(), listener.filter.type) != types.end()) continue;
      add(StoreFault::kInstanceListeners, place,
          fmt::format("it listens for {}, and its state does not", listener.filter.type));
      break;
    }
    return false;
  }

  const auto delay = deadline_of(head, TimerKind::kDelay);
  if (opened->delay.has_value() != delay.has_value()) {
    add(StoreFault::kInstanceTimers, place,
        delay ? "it has a timer of a delay, and its state is not one"
              : "it has no timer of its delay");
  } else if (delay) {
    const auto latest = open_state(state, head, as_data, as_input, *time_);
    if (*delay < *opened->delay || (latest && *delay > *latest->delay)) {
      add(StoreFault::kInstanceTimers, place,
          fmt::format("its delay is over at {} ms, and by its state it is at {} ms at the earliest",
                      to_millis(*delay), to_millis(*opened->delay)));
    }
  }

  bool is_same = false;
  if (one.slots.size() != opened->slots) {
    add(StoreFault::kInstanceParts, place,
        fmt::format("its state gathers {} events, and its slots (part 3) are {}", opened->slots,
                    one.slots.size()));
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
              ? fmt::format("it listens for {}, with another text of an attribute than its state "
                            "makes of its data",
                            found)
              : fmt::format("it listens for {}, and its state for {}", found, wanted));
    }
  }

  if (opened->calls.size() != head.calls.size()) {
    add(StoreFault::kInstanceParts, place,
        fmt::format("it has {} calls, and its state makes {}", head.calls.size(),
                    opened->calls.size()));
    return is_same;
  }
  if (one.read_calls.size() != head.calls.size()) return is_same;
  for (uint32_t index = 0; index < one.read_calls.size(); ++index) {
    const auto effect = opened->started.find(index);
    if (effect == opened->started.end()) continue;  // another one starts first
    check_opened_call(one, state, index, opened->calls[index], effect->second, opened->is_exact);
  }
  return is_same;
}

/// Compares a call, and its task, with what its state makes of it.
void Checker::check_opened_call(const Walked& one, const State& state, uint32_t index,
                                const Call& opened, const Effect& started, bool is_exact) {
  using enum Call::Status;
  const Instance& head = *one.head;
  const Call& call = one.read_calls[index];
  Writer key;
  key.raw(one.key(Part::kCall));
  key.u32(index);
  const Place place{one.table, key.view()};
  const auto* const task = std::get_if<StartTask>(&started);
  if (call.status != kRunning && call.status != kBetween) return;
  if (!call.first_at) return;  // of format 3, which had no timeouts of calls
  if (call.outside != (task != nullptr)) {
    add(StoreFault::kCallState, place,
        call.outside ? "it runs outside, and its function is a subflow"
                     : "it is a subflow, and its function runs outside");
    return;
  }
  const auto has = [](const Call& one_call, TimeoutKind kind) {
    return one_call.deadlines[static_cast<size_t>(kind)].has_value();
  };
  const auto demand = [&](TimeoutKind kind, bool is_demanded) {
    if (!is_demanded || has(call, kind)) return;
    add(StoreFault::kCallState, place,
        fmt::format("its function has a timeout, and the deadline {} is missing",
                    error_code(kind)));
  };
  const bool runs = call.status == kRunning;
  demand(TimeoutKind::kScheduleToClose,
         has(opened, TimeoutKind::kScheduleToClose) && (runs || !head.retried));
  demand(TimeoutKind::kScheduleToStart,
         has(opened, TimeoutKind::kScheduleToStart) && runs && !call.begun);
  demand(TimeoutKind::kStartToClose,
         runs && call.begun &&
             (task != nullptr ? task->start_to_close.has_value()
                              : has(opened, TimeoutKind::kStartToClose)));
  demand(TimeoutKind::kHeartbeat, runs && task == nullptr && has(opened, TimeoutKind::kHeartbeat));
  if (!runs || task == nullptr) return;

  const std::string row_key = rows::key_of(call.id);  // check_call() tells where it is missing
  const auto value = view_.get(Table::kTasks, row_key);
  const auto stored =
      value ? rows::decode(view_, Table::kTasks, row_key, *value, decode_task) : fail("", "");
  if (!stored) return;
  const Place task_place{Table::kTasks, row_key};
  const auto other = [&](const char* what) {
    add(StoreFault::kTaskCaller, task_place,
        fmt::format("its {} is not that of call {} of {}", what, index, to_string(one.id)));
  };
  if (stored->state != state.common().id) other("state");
  if (stored->function != task->function) other("function");
  if (stored->runs != task->runs) other("service or container");
  if (stored->attempt != call.attempt) other("attempt");
  if (stored->workflow != head.revision.workflow) other("workflow");
  if (stored->by != one.id) other("instance");
  if (!is_exact || stored->sealed || call.sealed || opened.sealed) return;  // secrets may change
  const auto input = parse_own_json(stored->input.text());
  if (input && *input != task->input.value()) other("input");
}

}  // namespace millrace
