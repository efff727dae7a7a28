// The instances of ListenerJudging that do not listen for the type of the event: those that are
// entering a state which will, and those whose wait has ended or has not started.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/similar_names.h"
#include "model/early_events.h"
#include "model/event_target.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/listener_judging.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"

namespace millrace {
namespace {

/// The bounds of judge_over().
constexpr size_t kMostHeadsOver = 1'000;
constexpr size_t kMostReadOver = 50;
constexpr size_t kMostKeptOver = 5;
constexpr Duration kOverTime{20};

/// Whether the event came before the wait, and the state looked back to it.
bool is_in_window(const PastWait& wait, const EventStanding& event) {
  return wait.window_from && event.position && event.position->stream == wait.from.stream &&
         event.stamped >= *wait.window_from;
}

/// Of an event that came during a wait, or in the window of its state.
std::string during_wait_says(const PastWait& wait, const JudgedListener& one,
                             const EventStanding& event) {
  if (wait.is_cut) {
    return fmt::format(
        "the window of the state `{}` (`lookback`) could not be read completely, so the instance "
        "was offered no event; the state raised {}, and the history of the instance says why",
        wait.state, kLookbackLimit);
  }
  if (event.position && *event.position <= wait.from) {
    std::string why = "it did not fit what the state asked for, or another event came first";
    if (one.would_fit) why = *one.would_fit ? "another event came first" : fit_says(one);
    return fmt::format(
        "the state `{}` looked back to {} (`lookback`) before it waited, and did not take the "
        "event: {}",
        wait.state, format_rfc3339(*wait.window_from), why);
  }
  std::string why = "the event did not fit what it asked for, which is no longer stored";
  if (one.would_fit) {
    why = fit_says(one) + (*one.would_fit ? ", but another event came first" : "");
  }
  return fmt::format(
      "the instance waited for this type in the state `{}` when the event came, and {}", wait.state,
      why);
}

/// Of an instance that has not been in `awaiting`, a state that waits for the type.
std::string not_yet_says(const Instance& instance, const State& awaiting, std::string_view type,
                         const EventStanding& event) {
  const bool is_over = has_ended(instance.status);
  std::string text =
      fmt::format("{} in a state that waits for this type, such as `{}`; ",
                  is_over ? "the instance has ended, and has not been" : "the instance is not",
                  awaiting.common().id);
  const std::optional<TimePoint> begin = window_begin(awaiting, type, event.stamped);
  if (!begin || is_over) {
    return text + "send the event when an instance is" +
           (begin ? "" : ", or write `lookback` in the definition of the state");
  }
  if (!event.position) return text + "that state also takes events that came before (`lookback`)";
  return text + fmt::format(
                    "that state looks back (`lookback`), so it also takes this event if the "
                    "instance comes there until {}",
                    format_rfc3339(event.stamped + (event.stamped - *begin)));
}

}  // namespace

/// Adds an instance that is entering a state which waits for the type of the event, if it is one:
/// it listens when its expressions are evaluated and its window is read. What it will ask for is
/// not known yet.
Status ListenerJudging::add_entering(const Instance& head) {
  if (head.phase != Phase::kEntering || head.compensating || has_ended(head.status)) return {};
  const auto workflow = TRY(definition_of(head.revision));
  if (workflow == nullptr || head.state >= workflow->states.size()) return {};
  const State& state = *workflow->states[head.state];
  const std::string_view type = event_.attributes.type();
  if (!awaits(state, type)) return {};
  ++looked_entering_;
  seen_.insert(head.id);
  JudgedListener one{.workflow = workflow->id,
                     .instance = head.id,
                     .started = head.started_at,
                     .state = state.common().id,
                     .since = head.state_from,
                     .listens_from = head.listen_from.event,
                     .window_from = window_begin(state, type, head.state_from),
                     .sealed = head.sealed,
                     .verdict = Verdict::kUnread};
  const auto& position = standing_.position;
  one.is_addressed = may_take(event_.event, head);
  if (!one.is_addressed) {
    one.verdict = Verdict::kPredicate;
    TRY(note_target(one));
  } else if (is_early(one, standing_)) {
    one.note = fmt::format(
        "the state `{}` looks back to {} (`lookback`), and the events since then are not read yet; "
        "the instance takes the event if it fits",
        one.state, format_rfc3339(*one.window_from));
  } else if (position && *position <= head.listen_from.event) {
    one.verdict = Verdict::kBefore;
  } else if (!position || *position <= standing_.applied) {
    one.note = fmt::format(
        "the instance is entering the state `{}`, which waits for this type, and does not listen "
        "yet; it is offered {} when it does",
        one.state, position ? "the event" : "an event that comes meanwhile");
  }
  if (head.paused && one.verdict == Verdict::kUnread && !one.note.empty()) {
    one.note += fmt::format(
        "; it is paused, and continues when it is resumed: `millrace -n {} instance resume {}`",
        standing_.ns, to_string(head.id));
  }
  judged_.push_back(std::move(one));
  return {};
}

/// Notes whether the event fits what the instance asked for in a wait that is over, and the nearest
/// of its predicates.
void ListenerJudging::note_fit(const PastWait& wait, const Workflow& workflow,
                               JudgedListener& one) {
  const auto asked = asked_in(wait, workflow, event_.attributes.type());
  if (!asked) return;
  std::optional<FilterResult> best;
  for (const EventFilter& filter : *asked) {
    FilterResult result = judge(filter, event_, patterns_);
    if (!best || result.failing() < best->failing()) best = std::move(result);
  }
  if (!best) return;
  one.would_fit = best->failing() == 0;
  one.result = *std::move(best);
}

/// Adds an instance that does not listen for the type of the event, and is not about to: its
/// history shows whether it did.
Status ListenerJudging::add_not_listening(const Instance& instance, const Workflow& workflow) {
  const std::string type(event_.attributes.type());
  seen_.insert(instance.id);
  JudgedListener one{.has_ended = has_ended(instance.status),
                     .workflow = workflow.id,
                     .instance = instance.id,
                     .started = instance.started_at,
                     .state = workflow.states[instance.state]->common().id,
                     .since = instance.state_from,
                     .listens_from = instance.listen_from.event,
                     .sealed = instance.sealed};
  if (!one.has_ended) {
    one.now_in = one.state;
    one.is_paused = instance.paused;
  }
  if (instance.compensating) {
    one.note = "the instance makes its compensations, and takes no further event before it ends";
  }
  const auto& position = standing_.position;
  const std::vector<PastWait> waits = TRY(past_waits(place_.view, instance, workflow, type));
  const auto at = std::find_if(waits.rbegin(), waits.rend(), [&](const PastWait& wait) {
    return !position || *position > wait.from || is_in_window(wait, standing_);
  });
  const auto awaiting = std::find_if(workflow.states.begin(), workflow.states.end(),
                                     [&](const auto& state) { return awaits(*state, type); });
  const bool may_wait = awaiting != workflow.states.end();
  if (position && *position > standing_.applied && may_wait) {
    one.verdict = Verdict::kUnread;
  } else if (at != waits.rend() && (!position || *position > at->until)) {
    one.verdict = Verdict::kAfter;
    one.state = at->state;
    one.since = at->entered;
    one.note = fmt::format("the wait for this type in the state `{}` ended before the event came",
                           at->state);
    if (at->ended) one.note += fmt::format(", at {}", format_rfc3339(*at->ended));
    if (!at->ended_by.empty()) one.note += fmt::format(": {}", at->ended_by);
    note_fit(*at, workflow, one);
    if (one.would_fit) one.note += "; " + fit_says(one);
  } else if (at != waits.rend()) {
    one.verdict = standing_.is_duplicate ? Verdict::kDuplicate : Verdict::kPredicate;
    if (at->is_cut) one.verdict = Verdict::kLimit;
    one.state = at->state;
    one.since = at->entered;
    one.window_from = at->window_from;
    if (!at->is_cut) note_fit(*at, workflow, one);
    one.note = during_wait_says(*at, one, standing_);
  } else if (!waits.empty()) {
    one.verdict = Verdict::kBefore;
    one.state = waits.front().state;
    one.since = waits.front().entered;
    one.listens_from = waits.front().from;
    one.window_from = waits.front().window_from;
    if (waits.front().was_woken) one.woken_by = waits.front().ended_by;
    note_fit(waits.front(), workflow, one);
  } else if (may_wait) {
    one.verdict = Verdict::kBefore;
    if (!instance.compensating) {
      one.note = not_yet_says(instance, **awaiting, type, standing_);
    }
  } else {
    std::vector<std::string> awaited;
    for (const Listener& listener : instance.listeners) awaited.push_back(listener.filter.type);
    for (const auto& state : workflow.states) {
      for (std::string& other : state->awaited_types()) awaited.push_back(std::move(other));
    }
    one.note = "no state of the workflow waits for events of this type";
    if (!awaited.empty()) {
      const std::vector<std::string_view> names(awaited.begin(), awaited.end());
      const Predicate is_type{"type", Predicate::Kind::kEquals,
                              nearest_name(type, names).value_or(awaited.front())};
      one.result.predicates.push_back({.predicate = is_type, .got = type});
    }
  }
  one.is_addressed = may_take(event_.event, instance);
  TRY(note_target(one));
  judged_.push_back(std::move(one));
  return {};
}

/// Adds an instance whose wait for the type is over, if the event fits what it asked for. Returns
/// whether it was added.
Result<bool> ListenerJudging::add_over(const InstanceId& id) {
  const auto instance = read_instance(place_.view, place_.ns, id);
  if (!instance && !is_damaged_row(instance.error())) return tl::unexpected(instance.error());
  if (!instance || !*instance) return false;
  const auto workflow = TRY(definition_of((*instance)->revision));
  if (workflow == nullptr || (*instance)->state >= workflow->states.size()) return false;
  const Status added = add_not_listening(**instance, *workflow);
  if (!added && !is_damaged_row(added.error())) return tl::unexpected(added.error());
  if (!added) return false;
  const JudgedListener& one = judged_.back();
  if (one.is_addressed && one.would_fit == true) return true;
  judged_.pop_back();
  return false;
}

Status ListenerJudging::judge_over() {
  const bool has_effect = std::any_of(judged_.begin(), judged_.end(),
                                      [](const auto& one) { return is_effect(one.verdict); });
  if (has_effect) return {};
  std::vector<InstanceId> ids;
  const auto see = [&](const Instance& head) {
    const bool listens = std::any_of(
        head.listeners.begin(), head.listeners.end(),
        [&](const Listener& listener) { return listener.filter.type == event_.attributes.type(); });
    if (!listens && !seen_.contains(head.id)) ids.push_back(head.id);
    return ids.size() < kMostReadOver;
  };
  size_t heads = 0;
  for (const WorkflowNumber workflow : waiting_in_) {
    if (ids.size() >= kMostReadOver || heads >= kMostHeadsOver) break;
    const InstanceSelection all{.ns = place_.ns, .workflow = workflow};
    const WalkEnd end = TRY(each_selected(place_.view, all, see,
                                          [](const InstanceId&, const Error&) { return true; },
                                          {.heads = kMostHeadsOver - heads}));
    heads += end.looked;
  }
  const Duration end = place_.clock.elapsed() + kOverTime;
  size_t kept = 0;
  for (const InstanceId& id : ids) {
    if (kept == kMostKeptOver || place_.clock.elapsed() >= end) break;
    if (TRY(add_over(id))) ++kept;
  }
  return {};
}

}  // namespace millrace
