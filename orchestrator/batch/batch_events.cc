// The part of Batch that applies events: the messages of the event stream and their targets.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cloudevents/subject.h"
#include "model/event_target.h"
#include "orchestrator/batch/batch.h"
#include "orchestrator/batch/quotas.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/head_rows.h"

namespace millrace {

/// Sets newest_ from the ids in the store: the id of an instance that an event started has the time
/// at which the broker stored the event.
Status Batch::load_newest() {
  newest_ = {};
  for (const NamespaceNumber ns : batch_.catalog.namespaces()) {
    const auto newest = TRY(read_newest_time(batch_.tx, ns));
    if (newest) newest_ = std::max(newest_, {*newest, std::numeric_limits<uint64_t>::max()});
  }
  return {};
}

/// Whether the event is above newest_, which then becomes this event: see AppliedEvent::is_new.
/// This holds for nearly all events, so their starts need not look for an instance with the same
/// id. After a lost batch newest_ stays, and the starts of its events look for one without need.
bool Batch::is_newest(const EventInput& input) {
  const std::pair at{input.stamped, input.sequence};
  if (at <= newest_) return false;
  newest_ = at;
  return true;
}

Status Batch::apply_input(TimePoint now, const EventInput& input) {
  batch_.crash_note.take_event(input.sequence);
  ++batch_.outcome.counts.events;
  TRY(batch_.dedupe.move_to(batch_.tx, input.stamped));
  if (input.origin != nullptr && !TRY(accept_origin(input))) return {};
  // The due timers of each target may have to fire first. A fan-out does that in portions.
  const size_t most = batch_.has_unfired_timers
                          ? std::min(limits_.woken, limits_.offered_in_one_unit)
                          : limits_.woken;
  EventRoute route = route_event(views_, input, most, limits_.match);
  if (TRY(fire_before(now, input, route))) {
    TRY(late_matches_.take_over());  // an instance that is now undecided does not get the event yet
    route = route_event(views_, input, most, limits_.match);
  }
  moved_to(input.sequence, input.stamped);
  const EventPosition position = batch_.position_of(input.sequence);
  const bool is_new = is_newest(input);
  const bool is_unmatched = route.kind != EventRoute::Kind::kNoNamespace && !route.matched;
  if (is_unmatched) ++batch_.outcome.counts.events_unmatched;
  if (route.kind != EventRoute::Kind::kNoNamespace) {
    EventTraffic& traffic = batch_.outcome.counts.traffic[route.ns];
    ++traffic.applied;
    if (is_unmatched) ++traffic.unmatched;
  }
  switch (route.kind) {
    case EventRoute::Kind::kNoNamespace:
      return refuse(input,
                    {"namespace.not_found", fmt::format("there is no namespace \"{}\"", input.ns)});
    case EventRoute::Kind::kUnmatched:
      return {};
    case EventRoute::Kind::kDuplicate:
      ++batch_.outcome.counts.events_duplicate;
      batch_.note_effect(position, {.kind = EventEffect::Kind::kDuplicate});
      return {};
    case EventRoute::Kind::kTargets:
      if (auto over = TRY(over_rate(route, input.stamped))) {
        return starts_.refuse(route.ns, position, route.event, *std::move(over));
      }
      return send_to(now,
                     {.event = route.event,
                      .position = position,
                      .stream_created = batch_.cursor.stream_created,
                      .stamped = input.stamped,
                      .known_as = route.known_as,
                      .is_new = is_new},
                     route);
  }
  return {};
}

/// Fires the due timers of the instances that the event would reach, up to the timestamp of the
/// event. Returns whether an instance has changed: then the instances may wait for other events,
/// and the event must be routed again. The targets of a fan-out get the event later, as a kept
/// event (Instances::offer_kept_events).
Result<bool> Batch::fire_before(TimePoint now, const EventInput& input, const EventRoute& route) {
  const bool may_fire = batch_.has_unfired_timers && route.kind == EventRoute::Kind::kTargets;
  if (!may_fire || route.fans_out) return false;
  bool fired = false;
  for (const InstanceTarget& target : route.targets.instances) {
    // The timers of an undecided instance fire when its matches are decided.
    const bool is_undecided =
        route.may_be_late && batch_.kept_events.undecided().has(target.instance);
    if (is_undecided) continue;
    LoadedInstance* const loaded = TRY(instances_.load(now, target.ns, target.instance));
    if (loaded == nullptr) continue;
    const TimePoint until = std::min(input.stamped, now);
    const auto is_passed = [&](const Timer& timer) { return timer.deadline <= until; };
    const std::vector<Timer>& timers = loaded->instance.timers;
    if (std::none_of(timers.begin(), timers.end(), is_passed)) continue;
    if (fan_outs_.has_target(target.ns, target.instance)) {  // the event of the fan-out comes first
      if (TRY(instances_.offer_kept_events(now, *loaded))) fired = true;
      if (batch_.kept_events.undecided().has(target.instance)) continue;
    }
    if (!TRY(instances_.fire_passed(now, *loaded, until, batch_.listen_from_now()))) continue;
    TRY(instances_.offer_kept_events(now, *loaded));
    fired = true;
  }
  return fired;
}

/// Judges the mark of an event that a source has published. Returns whether the event is to be
/// applied. Otherwise it needs nothing more: it is dropped, or is a dead letter.
Result<bool> Batch::accept_origin(const EventInput& input) {
  const Origins::Verdict verdict = TRY(batch_.origins.take(input.ns, *input.origin));
  if (verdict == Origins::Verdict::kNew) {
    ++batch_.outcome.counts.source_events;
    return true;
  }
  moved_to(input.sequence, input.stamped);
  switch (verdict) {
    case Origins::Verdict::kNew:
    case Origins::Verdict::kTooManyGaps:
      break;
    case Origins::Verdict::kRepeated:
      ++batch_.outcome.counts.source_repeated;
      batch_.note_effect(batch_.position_of(input.sequence),
                         {.kind = EventEffect::Kind::kDuplicate});
      break;
    case Origins::Verdict::kForged:
      TRY(refuse(input, {std::string(kOriginError),
                         fmt::format("the header {} was not made by this store for this event; "
                                     "only millrace sends this header: publish the event without "
                                     "it",
                                     kOriginHeader)}));
      break;
    case Origins::Verdict::kUnknown:
      TRY(refuse(input, {std::string(kOriginError),
                         fmt::format("the source that published the event was deleted before the "
                                     "event was applied; it was message {} of its stream",
                                     input.origin->sequence)}));
      break;
  }
  return false;
}

/// Makes the event a dead letter.
Status Batch::refuse(const EventInput& input, Error reason) {
  const EventPosition position = batch_.position_of(input.sequence);
  batch_.note_effect(position, {.kind = EventEffect::Kind::kRefused});
  return batch_.dead_letter({.ns = input.ns,
                             .reason = std::move(reason),
                             .sequence = input.sequence,
                             .message = event_message(input.ns, input.event.event())});
}

/// The error of an event that the quota of its namespace does not permit; nullopt: it is permitted.
Result<std::optional<Error>> Batch::over_rate(const EventRoute& route, TimePoint stamped) {
  if (route.per_second == kUnlimited) return std::optional<Error>();
  counts_rates_ = true;
  return rates_.take(route.ns, route.per_second, stamped);
}

bool Batch::has_many_bytes(const EventRoute& route) const {
  const size_t targets = route.targets.starts.size() + route.targets.instances.size();
  const size_t bytes = route.event.data ? route.event.data->size() : 0;
  return targets > 1 && bytes > limits_.bytes_in_one_unit / targets;
}

Status Batch::send_to(TimePoint now, const AppliedEvent& applied, const EventRoute& route) {
  const EventPosition& position = applied.position;
  const std::vector<InstanceTarget>& instances = route.targets.instances;
  LateMatchRecord late;
  if (route.may_be_late) late = late_matches_.late_of(route.targets);
  const std::vector<WorkflowNumber> late_starts = late.starts;
  // Starts and instances that the unit of work has no time for get the event as a kept event.
  const std::vector<StartTarget>& starts = route.targets.starts;
  const bool has_many_bytes = this->has_many_bytes(route);
  const auto are_many = [&](size_t targets) {
    return targets > limits_.offered_in_one_unit || (targets > 0 && has_many_bytes);
  };
  const bool are_many_starts = are_many(starts.size());
  bool may_leave = are_many_starts;
  for (size_t i = 0; batch_.has_unfired_timers && !are_many_starts && i < starts.size(); ++i) {
    may_leave = TRY(starts_.must_wait(now, applied, starts[i])) || may_leave;
  }
  const bool may_fan_out = route.fans_out || are_many(instances.size());
  const bool is_late = route.may_be_late && !late.empty();
  const bool kept = route.is_wanted || may_leave || may_fan_out || is_late;
  if (kept && route.may_be_late && late_matches_.is_full(route.ns)) {
    return starts_.refuse(route.ns, position, route.event, late_matches_.refuse(route.ns));
  }
  if (kept) {
    if (auto over = TRY(Quotas(batch_).refusal_of_need(route.ns))) {
      return starts_.refuse(route.ns, position, route.event, *std::move(over));
    }
    batch_.kept_events.keep(batch_.tx, route.ns, route.event, route.known_as, position,
                            applied.stamped, std::min(applied.stamped, now));
    batch_.note_effect(position, {.kind = EventEffect::Kind::kKept});
    if (route.may_be_late) TRY(late_matches_.kept(route.ns, std::move(late)));
  }
  bool had_effect = route.fans_out;
  std::optional<Error> over;
  std::vector<WorkflowNumber> left;
  for (const StartTarget& target : starts) {
    if (std::binary_search(late_starts.begin(), late_starts.end(), target.workflow)) continue;
    const bool has_no_time = may_leave && (!left.empty() || batch_.meter.is_spent() ||
                                           TRY(starts_.must_wait(now, applied, target)));
    if (has_no_time) {
      left.push_back(target.workflow);
    } else {
      had_effect |= TRY(starts_.offer(now, applied, target, over));
    }
  }
  if (!left.empty()) TRY(late_matches_.add_starts(route.ns, left, over.has_value()));
  if (over) TRY(starts_.refuse(route.ns, position, route.event, *std::move(over)));
  auto next = instances.begin();
  if (!route.fans_out) {
    for (; next != instances.end() && !(kept && batch_.meter.is_spent()); ++next) {
      // If an earlier event is undecided for the instance, it gets this one later, as a kept event.
      if (route.may_be_late && batch_.kept_events.undecided().has(next->instance)) continue;
      had_effect |= TRY(offer(now, position, route, *next, kept));
      ++woken_;
    }
  }
  if (next != instances.end()) {
    had_effect = true;
    TRY(fan_outs_.begin({next, instances.end()}));
  }
  if (had_effect) batch_.dedupe.add(route.known_as);
  return {};
}

Result<bool> Batch::offer(TimePoint now, const EventPosition& position, const EventRoute& route,
                          const InstanceTarget& target, bool kept) {
  LoadedInstance* const loaded = TRY(instances_.load(now, target.ns, target.instance));
  if (loaded == nullptr || !may_take(route.event, loaded->instance)) return false;
  // A target that a fan-out has not reached must get the event of the fan-out first: so it is
  // offered all its kept events in their order, and this event is one of these.
  if (kept && fan_outs_.has_target(target.ns, target.instance)) {
    return instances_.offer_kept_events(now, *loaded);
  }
  const bool woken = TRY(instances_.step(
      now, *loaded,
      Matched{&route.event, target.entries, batch_.listen_from_now(), route.known_as}));
  if (!woken) return false;
  ++batch_.outcome.counts.instances_woken;
  batch_.note_effect(position, {.kind = EventEffect::Kind::kWoken, .instance = target.instance});
  return true;
}

Status Batch::apply_input(TimePoint, const UnreadableInput& input) {
  batch_.crash_note.take_event(input.sequence);
  ++batch_.outcome.counts.events_unreadable;
  // The message of a source is done with, or the source would publish it again.
  const auto ns = subject_namespace(input.message.subject);
  if (input.origin != nullptr && ns) TRY(batch_.origins.take(*ns, *input.origin));
  if (const auto number = ns ? batch_.catalog.find_namespace(*ns) : std::nullopt) {
    ++batch_.outcome.counts.traffic[*number].applied;
  }
  moved_to(input.sequence, input.stamped);
  batch_.note_effect(batch_.position_of(input.sequence), {.kind = EventEffect::Kind::kRefused});
  return batch_.dead_letter({.ns = ns.value_or(std::string(kDefaultNamespace)),
                             .reason = input.reason,
                             .sequence = input.sequence,
                             .message = input.message});
}

}  // namespace millrace
