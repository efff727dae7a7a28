// The kept events of an instance: those that its listeners match, in their order, with the timers
// that fire before them. Its early events that are left for a later turn.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "orchestrator/batch/instances.h"

namespace millrace {
namespace {

/// What a wake of an undecided instance takes from the budget of steps: about the number of steps
/// of patterns that take as long.
constexpr uint32_t kStepsToWake = 2'000;

/// How many kept events an instance takes in one unit of work. Late matches give it the others.
constexpr size_t kTakenAtOnce = 250;

/// The most steps of the searches of an instance in one unit of work: as many as a portion of late
/// matches makes.
constexpr uint32_t kStepsOfASearch = 20'000;

/// The position just before a kept event.
ListenFrom position_before(const ListenFrom& event) {
  ListenFrom position = event;
  --position.kept;
  if (position.event.sequence > 1) --position.event.sequence;
  return position;
}

}  // namespace

Result<bool> Instances::offer_kept_events(TimePoint now, LoadedInstance& loaded) {
  const Instance& instance = loaded.instance;
  KeptEvents& kept = batch_.kept_events;
  bool changed = false;
  uint64_t fired_before = 0;
  size_t taken = 0;
  MatchBudget budget = batch_.kept_budget;
  budget.steps = std::min(budget.steps, kStepsOfASearch);
  while (instance.phase == Phase::kWaiting && !instance.listeners.empty()) {
    if (kept.undecided().has(instance.id)) return changed;
    const MatchBudget before = budget;
    const KeptEventSearch search = TRY(kept.find(batch_.tx, instance, {}, budget));
    batch_.kept_budget.take_steps(before.steps - budget.steps);
    batch_.kept_budget.take_bytes(before.bytes - budget.bytes);
    std::optional<uint64_t> stopped_at = search.stopped_at;
    const bool is_enough = taken >= kTakenAtOnce || (taken > 0 && batch_.meter.is_spent());
    if (search.match && is_enough) stopped_at = search.match->position.kept;
    if (stopped_at) {
      kept.undecided().add(instance.id);
      batch_.unfinished.push_back({instance.ns, instance.id, *stopped_at});
      return changed;
    }
    if (!search.match) return changed;
    changed = true;
    // Timers fire once before each event: a timer that they arm for now comes after the event.
    const KeptEventMatch& match = *search.match;
    if (std::exchange(fired_before, match.position.kept) != match.position.kept &&
        TRY(fire_passed(now, loaded, match.after_timers, position_before(match.position)))) {
      continue;
    }
    TRY(take_kept_event(now, loaded, match));
    ++taken;
  }
  return changed;
}

Result<std::optional<uint64_t>> Instances::catch_up(TimePoint now, LoadedInstance& loaded,
                                                    uint64_t number, MatchBudget& budget) {
  const Instance& instance = loaded.instance;
  KeptEvents& kept = batch_.kept_events;
  KeptEvents::Range range{.from = number, .to = number};
  while (instance.phase == Phase::kWaiting && !instance.listeners.empty()) {
    const KeptEventSearch search = TRY(kept.find(batch_.tx, instance, range, budget));
    if (search.stopped_at) return search.stopped_at;
    // The listeners match no event before this one, so the timers before it come first. They must
    // fire now: afterwards the instance may listen to events in between, which are still kept.
    const uint64_t until = search.match ? search.match->position.kept
                                        : search.next.value_or(kept.last_of(instance.ns));
    if (!TRY(fire_before(now, loaded, kept.after_timers(instance.ns, until), number))) {
      if (search.next) return search.next;
      if (!search.match) break;
      TRY(take_kept_event(now, loaded, *search.match));
    }
    range.from = 0;  // the listeners have changed
    budget.take_steps(kStepsToWake);
  }
  kept.undecided().remove(instance.id);
  // Timers that became due while the instance was undecided have left the wheel.
  const auto is_due = [&](const Timer& timer) { return timer.deadline <= now; };
  if (std::any_of(instance.timers.begin(), instance.timers.end(), is_due)) {
    TRY(batch_.waiting.update(batch_.catalog.name_of(instance.ns), instance));
  }
  return std::optional<uint64_t>();
}

Status Instances::take_kept_event(TimePoint now, LoadedInstance& loaded,
                                  const KeptEventMatch& match) {
  const Instance& instance = loaded.instance;
  const Fingerprint known_as = fingerprint_of(batch_.catalog.name_of(instance.ns), *match.event);
  TRY(step_once(now, loaded,
                Matched{.event = match.event.get(),
                        .entries = match.entries,
                        .position = match.position,
                        .known_as = known_as}));
  note_taken(instance.id, match.position.event, known_as);
  return {};
}

/// Notes the effect of an event that was stored before this batch.
void Instances::note_taken(const InstanceId& instance, const EventPosition& at,
                           const Fingerprint& known_as) {
  ++batch_.outcome.counts.instances_woken;
  if (!batch_.dedupe.seen(known_as)) batch_.dedupe.add(known_as);
  // The rows of earlier events are erased (trim_effects).
  const EventPosition newest = batch_.position_of(batch_.cursor.sequence);
  if (at.stream == newest.stream && at.sequence + kEffectsKept < newest.sequence) return;
  batch_.note_effect(at, {.kind = EventEffect::Kind::kWoken, .instance = instance});
}

/// Makes the early events behind the first ones, which the step has given to the instance, an input
/// of a later turn. It has its turn as the other results of evaluations have.
void Instances::offer_later(const Instance& instance, const EvaluationDone& done, size_t taken) {
  const std::vector<EarlyEvent>& found = **done.early;
  batch_.after_commit(
      EvaluatedInput{.ns = instance.ns,
                     .instance = instance.id,
                     .step = evaluation_of(instance),
                     .workflow = instance.revision.workflow,
                     .early = std::vector<EarlyEvent>(
                         found.begin() + static_cast<std::ptrdiff_t>(taken), found.end())});
}

/// Fires the first timer of an undecided instance with a deadline up to that time, as if it had
/// fired at its deadline: the instance listens to the events that came later. Returns whether the
/// instance has such a timer. `undecided`: the number of the kept event before which all events are
/// decided.
Result<bool> Instances::fire_before(TimePoint now, LoadedInstance& loaded, TimePoint time,
                                    uint64_t undecided) {
  Instance& instance = loaded.instance;
  const auto first =
      std::min_element(instance.timers.begin(), instance.timers.end(),
                       [](const Timer& a, const Timer& b) { return a.deadline < b.deadline; });
  if (first == instance.timers.end() || first->deadline > time) return false;
  const Timer timer = *first;
  instance.listen_from =
      batch_.kept_events.last_before(instance.ns, timer.deadline, instance.listen_from);
  // Not all events before the undecided one are kept, so a state with `lookback` gets them as early
  // events. Those of them that are kept come in both ways, and are taken once.
  if (TRY(batch_.catalog.definition(batch_.tx, instance.revision))->looks_back) {
    EventPosition& listens_from = instance.listen_from.event;
    const EventPosition decided = batch_.kept_events.just_before(instance.ns, undecided);
    listens_from = std::max(listens_from, decided);
  }
  ++batch_.outcome.counts.timers_fired;
  return step_once(now, loaded, Fired{.kind = timer.kind, .deadline = timer.deadline});
}

}  // namespace millrace
