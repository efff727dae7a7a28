#include "orchestrator/service/listener_judging.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "model/event_target.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"

namespace millrace {
namespace {

/// How many listeners get hints; the others have more predicates that do not hold.
constexpr size_t kMostHinted = 200;

/// The most running instances among which those are searched that enter a state which waits.
constexpr size_t kMostEntering = 1'000;

/// How many heads are read between two looks at the clock.
constexpr size_t kHeadsBetweenLooks = 64;

const std::vector<InstanceStatus>& statuses_of_live() {
  static const std::vector<InstanceStatus> statuses = {
      InstanceStatus::kPending, InstanceStatus::kRunning, InstanceStatus::kWaiting,
      InstanceStatus::kPaused};
  return statuses;
}

bool skip_damaged_head(const InstanceId&, const Error&) { return true; }

/// What the other listeners have in common, so that they can be counted.
std::string common_of(const JudgedListener& one) {
  switch (one.verdict) {
    case Verdict::kPredicate:
      return one.note.empty() ? excluded_by(one.result) : one.note;
    case Verdict::kBefore:
      return "the event came before the wait began";
    case Verdict::kUnread:
      return one.note.empty() ? "the event is not applied yet" : "the instance does not listen yet";
    default:
      return fmt::format("verdict {}", to_string(one.verdict));
  }
}

/// A listener that may not take the event comes after all others.
bool sort_nearest(const JudgedListener* a, const JudgedListener* b) {
  if (a->is_addressed != b->is_addressed) return a->is_addressed;
  return is_nearer(a->verdict, a->result, b->verdict, b->result);
}

}  // namespace

/// The definition of a revision; null: its row is damaged. Most listeners of one answer have the
/// revision of the one before, so they do not take the lock of the cache, which the engine thread
/// takes too.
Result<std::shared_ptr<const Workflow>> ListenerJudging::definition_of(Revision revision) {
  if (newest_definition_ != nullptr && newest_revision_ == revision) return newest_definition_;
  auto workflow = place_.definitions.find_or_load(place_.view, revision);
  if (!workflow && is_damaged_row(workflow.error())) return std::shared_ptr<const Workflow>();
  if (workflow) {
    newest_definition_ = *workflow;
    newest_revision_ = revision;
  }
  return workflow;
}

/// The circumstances that are the same for all listeners.
Circumstances ListenerJudging::circumstances() const {
  return {.event = standing_.position,
          .applied = standing_.applied,
          .is_duplicate = standing_.is_duplicate};
}

/// What an event with a target (model/event_target.h) is addressed to, in words.
Result<std::string> ListenerJudging::addressee() {
  if (addressee_) return *addressee_;
  const std::string target(event_.attributes.find(kTargetAttribute).value_or(""));
  std::string words = fmt::format("`{}`, which names nothing", excerpt(target));
  if (const auto instance = target_instance(target)) {
    words = fmt::format("the instance {}", to_string(*instance));
  } else {
    TRY(each_workflow_behind(place_.view, place_.ns, "",
                             [&](std::string_view id, const WorkflowRecord& record) {
                               const bool is_it = is_target(target, record.number);
                               if (is_it) words = fmt::format("the workflow `{}`", id);
                               return !is_it;
                             }));
  }
  addressee_ = words;
  return words;
}

/// Says of a listener that may not take the event what the event is addressed to.
Status ListenerJudging::note_target(JudgedListener& one) {
  if (one.is_addressed || one.verdict != Verdict::kPredicate) return {};
  one.note =
      fmt::format("the event is not addressed to this listener, but to {}", TRY(addressee()));
  return {};
}

/// Sorts the effects of the event by whom they concern. A later effect on a workflow replaces an
/// earlier one: an event waits in a group first, and leaves it later.
Status ListenerJudging::note_effects() {
  if (std::exchange(has_effects_, true)) return {};
  size_t started = 0;
  for (const EventEffect& effect : effects_) {
    switch (effect.kind) {
      case EventEffect::Kind::kWoken:
        if (woken_.size() < bounds_.effects) woken_.insert(effect.instance);
        break;
      case EventEffect::Kind::kStarted: {
        if (++started > bounds_.effects) break;
        const auto head = read_head_anywhere(place_.view, place_.ns, effect.instance);
        if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
        if (head && *head) {
          on_workflows_[(*head)->revision.workflow] = {Verdict::kStarted, effect.instance,
                                                       (*head)->paused};
        }
        break;
      }
      case EventEffect::Kind::kGrouped:
        on_workflows_[effect.workflow] = {Verdict::kGrouped, std::nullopt};
        break;
      case EventEffect::Kind::kSkipped:
        on_workflows_[effect.workflow] = {Verdict::kSkipped, std::nullopt};
        break;
      case EventEffect::Kind::kRateLimited:
        on_workflows_[effect.workflow] = {Verdict::kRateLimit, std::nullopt};
        break;
      case EventEffect::Kind::kDebounced:
        on_workflows_[effect.workflow] = {Verdict::kDebounced, std::nullopt};
        break;
      case EventEffect::Kind::kBatched:
        on_workflows_[effect.workflow] = {Verdict::kBatched, std::nullopt};
        break;
      case EventEffect::Kind::kUncorrelated:
        on_workflows_[effect.workflow] = {Verdict::kCorrelation, std::nullopt};
        break;
      case EventEffect::Kind::kExpired:
        on_workflows_[effect.workflow] = {Verdict::kLifespan, std::nullopt};
        break;
      case EventEffect::Kind::kClosed:
        on_workflows_[effect.workflow] = {
            .verdict = Verdict::kLifespan, .instance = std::nullopt, .is_closed = true};
        break;
      default:
        break;
    }
  }
  return {};
}

/// The oldest live instance of the workflow; nullopt: there is none, or its head is damaged.
Result<std::optional<Instance>> ListenerJudging::oldest_live(WorkflowNumber workflow) const {
  const InstanceSelection live{.ns = place_.ns,
                               .workflow = workflow,
                               .statuses = statuses_of_live(),
                               .ids = {},
                               .oldest_first = true};
  std::optional<Instance> oldest;
  TRY(each_selected(place_.view, live,
                    [&](const Instance& head) {
                      oldest = head;
                      return false;
                    },
                    skip_damaged_head, {.heads = 1}));
  return oldest;
}

Status ListenerJudging::judge_woken() {
  for (const InstanceId& id : woken_) {
    if (seen_.contains(id)) continue;
    const auto head = read_head_anywhere(place_.view, place_.ns, id);
    if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
    if (head && *head) TRY(add_woken(**head));
  }
  return {};
}

/// Adds an instance that the event has woken.
Status ListenerJudging::add_woken(const Instance& head) {
  const auto workflow = TRY(definition_of(head.revision));
  if (workflow == nullptr || head.state >= workflow->states.size()) return {};
  seen_.insert(head.id);
  ++looked_woken_;
  JudgedListener one{.workflow = workflow->id,
                     .instance = head.id,
                     .started = head.started_at,
                     .state = workflow->states[head.state]->common().id,
                     .since = head.state_from,
                     .listens_from = head.listen_from.event,
                     .sealed = head.sealed,
                     .verdict = Verdict::kWoke};
  if (TRY(is_filled(head))) {
    one.verdict = Verdict::kFilled;
    for (const Listener& other : head.listeners) one.waits_for.push_back(other.filter.type);
  } else if (head.paused) {
    one.verdict = Verdict::kPaused;
  }
  judged_.push_back(std::move(one));
  return {};
}

/// Whether the event, which has woken the instance, has filled an entry of its eventAnd state.
Result<bool> ListenerJudging::is_filled(const Instance& head) {
  const auto workflow = TRY(definition_of(head.revision));
  if (workflow == nullptr || head.listeners.empty()) return false;
  const Waits waits = workflow->states[head.state]->waits();
  if (!waits.keeps_events || head.listeners.size() >= waits.events) return false;
  const auto whole = TRY(read_instance(place_.view, place_.ns, head.id));
  if (!whole) return false;
  if (!standing_.position) return false;
  return has_woken_in_state(place_.view, *whole, event_.event, *standing_.position);
}

Status ListenerJudging::judge_asked(const Instance& instance) {
  TRY(note_effects());
  if (seen_.contains(instance.id)) return {};
  if (woken_.contains(instance.id)) return add_woken(instance);
  const auto started = on_workflows_.find(instance.revision.workflow);
  if (started != on_workflows_.end() && started->second.instance == instance.id) {
    seen_.insert(instance.id);
    const auto definition = TRY(definition_of(instance.revision));
    JudgedListener one{.workflow = definition == nullptr ? "" : definition->id,
                       .instance = instance.id,
                       .sealed = instance.sealed,
                       .verdict = Verdict::kStarted};
    if (instance.paused && definition != nullptr) {
      // Without the row, which may be damaged, the answer names the instance in place of it.
      const auto record = read_workflow(place_.view, place_.ns, definition->id);
      note_pause(record && *record && (*record)->paused, one);
    }
    judged_.push_back(std::move(one));
    return {};
  }
  TRY(add_waiting(instance));
  if (seen_.contains(instance.id)) return {};
  const auto workflow = TRY(definition_of(instance.revision));
  if (workflow == nullptr || instance.state >= workflow->states.size()) {
    return fail("store.damaged_row", "the definition of the instance cannot be read");
  }
  return add_not_listening(instance, *workflow);
}

Status ListenerJudging::judge_found(const std::vector<InstanceId>& ids) {
  for (const InstanceId& id : ids) {
    if (seen_.size() >= bounds_.listeners) {
      is_complete_ = false;
      break;
    }
    const auto head = read_live_head(place_.view, place_.ns, id);
    if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
    if (head && *head) TRY(add_waiting(**head));
  }
  return {};
}

/// Adds the instance if it listens for the type of the event and is not judged yet.
Status ListenerJudging::add_waiting(const Instance& head) {
  if (seen_.contains(head.id)) return {};
  const Listener* best = nullptr;
  JudgedListener one{.instance = head.id,
                     .started = head.started_at,
                     .since = head.state_from,
                     .listens_from = head.listen_from.event,
                     .sealed = head.sealed};
  for (const Listener& listener : head.listeners) {
    if (listener.filter.type != event_.attributes.type()) continue;
    ++looked_;
    FilterResult result = judge(listener.filter, event_, patterns_);
    if (best != nullptr && result.failing() >= one.result.failing()) continue;
    best = &listener;
    one.result = std::move(result);
  }
  if (best == nullptr || takes_early_events(head)) return add_entering(head);
  const auto workflow = TRY(definition_of(head.revision));
  if (workflow == nullptr || head.state >= workflow->states.size()) return {};
  const State& state = *workflow->states[head.state];
  one.is_addressed = may_take(event_.event, head);
  seen_.insert(head.id);
  one.workflow = workflow->id;
  one.state = state.common().id;
  const std::vector<std::optional<Duration>> lookbacks = state.lookbacks();
  if (best->entry < lookbacks.size() && lookbacks[best->entry]) {
    one.window_from = head.state_from - *lookbacks[best->entry];
  }
  Circumstances about = circumstances();
  about.listens_from = head.listen_from.event;
  about.is_early = is_early(one, standing_);
  if (about.is_early)
    about.is_duplicate = about.is_duplicate || head.consumed.has(standing_.known_as);
  about.is_paused = head.paused;
  about.needs_others = state.waits().keeps_events && head.listeners.size() > 1;
  about.is_for_others = !one.is_addressed;
  if (standing_.is_dead && one.is_addressed && one.result.failing() == 0) {
    about.effect = Verdict::kDead;
  }
  one.verdict = decide_verdict(one.result, about);
  TRY(note_target(one));
  if (one.verdict == Verdict::kFilled) {
    for (const Listener& other : head.listeners) {
      if (&other != best) one.waits_for.push_back(other.filter.type);
    }
  }
  judged_.push_back(std::move(one));
  return {};
}

/// Judges a head that a walk has found. Returns whether the walk may go on.
bool ListenerJudging::walks_on(const Instance& head) {
  walk_status_ = add_waiting(head);
  if (!walk_status_) return false;
  const bool looks_at_clock = ++looked_heads_ % kHeadsBetweenLooks == 0;
  const bool is_late = looks_at_clock && place_.clock.elapsed() >= walk_ends_;
  if (is_late || seen_.size() >= bounds_.listeners || looked_heads_ >= bounds_.heads) {
    is_complete_ = false;
  }
  return is_complete_;
}

Status ListenerJudging::judge_entering() {
  size_t heads = 0;
  Status status;
  const auto see = [&](const Instance& head) {
    status = add_waiting(head);
    return status && ++heads < kMostEntering && seen_.size() < bounds_.listeners;
  };
  for (const WorkflowNumber workflow : waiting_in_) {
    const InstanceSelection running{
        .ns = place_.ns, .workflow = workflow, .statuses = {InstanceStatus::kRunning}};
    const size_t left = kMostEntering - heads;
    TRY(each_selected(place_.view, running, see, skip_damaged_head, {.heads = left}));
    TRY(std::move(status));
    if (heads < kMostEntering && seen_.size() < bounds_.listeners) continue;
    is_complete_ = false;
    break;
  }
  return {};
}

Status ListenerJudging::judge_others(const std::optional<size_t>& of) {
  const auto has_all = [&] { return of && looked_ >= *of; };
  const bool was_complete = is_complete_;
  if (seen_.size() >= bounds_.listeners) {
    is_complete_ = was_complete && has_all();
    return {};
  }
  walk_ends_ = place_.clock.elapsed() + std::chrono::duration_cast<Duration>(bounds_.walk);
  is_complete_ = true;
  const auto walk = [&](std::optional<WorkflowNumber> workflow) -> Status {
    const InstanceSelection selection{
        .ns = place_.ns, .workflow = workflow, .statuses = statuses_of_live()};
    const size_t heads = bounds_.heads - std::min(bounds_.heads, looked_heads_);
    const WalkEnd end = TRY(each_selected(place_.view, selection,
                                          [&](const Instance& head) { return walks_on(head); },
                                          skip_damaged_head, {.heads = heads}));
    if (end.cut) is_complete_ = false;
    return std::move(walk_status_);
  };
  // Workflows that wait for the type come first: among many instances, few may wait for it.
  for (const WorkflowNumber workflow : waiting_in_) {
    if (is_complete_ && !has_all()) TRY(walk(workflow));
  }
  if (is_complete_ && !has_all()) TRY(walk(std::nullopt));
  is_complete_ = was_complete && (is_complete_ || has_all());
  return {};
}

ListenerJudging::Nearest ListenerJudging::nearest(size_t limit,
                                                  const std::optional<InstanceId>& only) {
  Nearest nearest;
  // Pointers are sorted, because a JudgedListener is large.
  std::vector<JudgedListener*> order;
  order.reserve(judged_.size());
  for (JudgedListener& one : judged_) {
    if (!only || (!one.is_start && one.instance == *only)) {
      order.push_back(&one);
    } else {
      ++nearest.others[common_of(one)];
    }
  }
  std::stable_sort(order.begin(), order.end(), sort_nearest);
  const auto hinted = order.begin() + static_cast<ptrdiff_t>(std::min(kMostHinted, order.size()));
  for (auto one = order.begin(); one != hinted; ++one) {
    // The hints of kCorrelation are known: any value groups the event.
    if ((*one)->verdict == Verdict::kCorrelation) continue;
    add_hints((*one)->result, event_, patterns_);
  }
  std::stable_sort(order.begin(), hinted, sort_nearest);
  for (JudgedListener* const one : order) {
    if (nearest.listeners.size() < limit) {
      nearest.listeners.push_back(std::move(*one));
    } else {
      ++nearest.others[common_of(*one)];
    }
  }
  judged_.clear();
  return nearest;
}

}  // namespace millrace
