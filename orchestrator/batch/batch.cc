#include "orchestrator/batch/batch.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "cloudevents/subject.h"
#include "model/event_target.h"
#include "model/service_url.h"
#include "orchestrator/batch/archived_instances.h"
#include "orchestrator/batch/commands/commands.h"
#include "orchestrator/batch/quotas.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// How many batches may move the cursor without writing it, if they change nothing else. After a
/// restart, the events of at most that many batches are read again.
constexpr uint32_t kMostWithoutEffect = 64;

/// How many old rows of `effects` one batch erases: more than a batch adds, so that no more than
/// kEffectsKept sequences stay for long.
constexpr size_t kErasedEffects = 64;

}  // namespace

Status Batch::load() {
  instances_.clear();
  batch_.discard();
  batch_.cursor = TRY(read_cursor(batch_.tx));
  batch_.stream = TRY(find_stream(batch_.tx, batch_.cursor.stream_created));
  first_applied_.reset();
  oldest_effects_ = {};
  cursor_moved_ = false;
  woken_ = 0;
  batch_.has_unfired_timers = true;
  begin_limits();
  retention_.clear();
  batch_.archive.clear();
  TRY(load_newest());
  rates_.clear();
  TRY(purges_.load());
  TRY(messages_.load());
  TRY(fan_outs_.load());
  return late_matches_.load();
}

Status Batch::undo() {
  instances_.clear();
  batch_.discard();
  first_applied_.reset();
  oldest_effects_ = {};
  if (const auto before = before_.take()) {
    batch_.cursor = before->cursor;
    batch_.stream = before->stream;
    cursor_moved_ = before->moved;
  }
  woken_ = 0;
  batch_.has_unfired_timers = true;  // the timers that the batch has fired are due again
  begin_limits();
  purges_.undo();
  batch_.archive.undo();
  retention_.undo();
  rates_.undo();
  TRY(messages_.load());
  TRY(fan_outs_.load());
  return late_matches_.load();
}

void Batch::begin_limits() {
  messages_.begin_batch(limits_.messages);
  fan_outs_.begin_batch(limits_.woken_later);
  late_matches_.begin_batch();
  batch_.kept_budget = limits_.kept;
}

std::vector<WorkLane> Batch::unfinished() const {
  std::vector<WorkLane> lanes = messages_.lanes();
  for (const std::vector<WorkLane>& others : {late_matches_.lanes(), fan_outs_.lanes()}) {
    lanes.insert(lanes.end(), others.begin(), others.end());
  }
  return lanes;
}

Status Batch::go_on(TimePoint now, const WorkLane& lane) {
  if (messages_.may_go_on(lane)) {
    batch_.meter.set_kind(UnitKind::kInstanceMessage);
    TRY(messages_.go_on(now, lane));
  } else if (late_matches_.may_go_on(lane)) {
    batch_.meter.set_kind(UnitKind::kEvent);
    TRY(late_matches_.go_on(now, lane, &batch_.meter));
    TRY(messages_.run(now));
  } else {
    batch_.meter.set_kind(UnitKind::kFanOut);
    TRY(fan_outs_.go_on(now, lane));
    TRY(messages_.run(now));
  }
  return late_matches_.take_over();
}

Result<bool> Batch::abandon_instance(TimePoint now, NamespaceNumber ns, const InstanceId& id) {
  LoadedInstance* const loaded = TRY(instances_.load(now, ns, id));
  if (loaded == nullptr) return false;
  TRY(instances_.step(now, *loaded,
                      Abandon{{std::string(kPoison),
                               "the server process died repeatedly while it processed this "
                               "instance"}}));
  TRY(messages_.run(now));
  TRY(late_matches_.take_over());
  return true;
}

Status Batch::give_up_webhook(const WebhookRecord& webhook, const Error& reason) {
  const std::string& ns = batch_.catalog.name_of(webhook.ns);
  const Result<Event> event = decode_json_event(webhook.event);
  if (!event) {
    batch_.damages.note(
        {std::string(kDamagedRow), fmt::format("the event for {} does not decode: {}",
                                               shown_origin(webhook.url), event.error().message)});
    return {};
  }
  return batch_.dead_letter(
      {.ns = ns,
       .reason = {reason.code,
                  fmt::format("{} did not accept the event in {} attempts: {}",
                              shown_origin(webhook.url), webhook.attempt, reason.message)},
       .message = event_message(ns, *event)},
      webhook.sealed);
}

Status Batch::stream_opened(const Cursor& position) {
  const uint32_t stream = TRY(number_stream(batch_.tx, position.stream_created));
  if (batch_.cursor == position && batch_.stream == stream) return {};
  note_cursor();
  batch_.cursor = position;
  batch_.stream = stream;
  cursor_moved_ = true;
  return {};
}

/// To be called before the current batch changes the cursor: keeps the old cursor for undo().
void Batch::note_cursor() {
  auto* const before = before_.now();
  if (before != nullptr && !*before) *before = {batch_.cursor, batch_.stream, cursor_moved_};
}

void Batch::moved_to(uint64_t sequence, TimePoint stamped) {
  note_cursor();
  batch_.cursor.sequence = sequence;
  batch_.cursor.stamped = stamped;
  cursor_moved_ = true;
  if (!first_applied_) first_applied_ = batch_.position_of(sequence);
}

// Events.

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
  switch (route.kind) {
    case EventRoute::Kind::kNoNamespace:
      batch_.note_effect(position, {.kind = EventEffect::Kind::kRefused});
      return refuse(input);
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

Status Batch::refuse(const EventInput& input) {
  return batch_.dead_letter(
      {.ns = input.ns,
       .reason = {"namespace.not_found", fmt::format("there is no namespace \"{}\"", input.ns)},
       .sequence = input.sequence,
       .message = event_message(input.ns, input.event.event())});
}

/// The error of an event that the quota of its namespace does not permit; nullopt: it is permitted.
Result<std::optional<Error>> Batch::over_rate(const EventRoute& route, TimePoint stamped) {
  if (route.per_second == kUnlimited) return std::optional<Error>();
  counts_rates_ = true;
  return rates_.take(route.ns, route.per_second, stamped);
}

Status Batch::send_to(TimePoint now, const AppliedEvent& applied, const EventRoute& route) {
  const EventPosition& position = applied.position;
  const std::vector<InstanceTarget>& instances = route.targets.instances;
  LateMatchRecord late;
  if (route.may_be_late) late = late_matches_.late_of(route.targets);
  const std::vector<WorkflowNumber> late_starts = late.starts;
  // Starts and instances that the unit of work has no time for get the event as a kept event.
  const std::vector<StartTarget>& starts = route.targets.starts;
  const bool are_many = starts.size() > limits_.offered_in_one_unit;
  bool may_leave = are_many;
  for (size_t i = 0; batch_.has_unfired_timers && !are_many && i < starts.size(); ++i) {
    may_leave = TRY(starts_.must_wait(now, applied, starts[i])) || may_leave;
  }
  const bool may_fan_out = route.fans_out || instances.size() > limits_.offered_in_one_unit;
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
  moved_to(input.sequence, input.stamped);
  batch_.note_effect(batch_.position_of(input.sequence), {.kind = EventEffect::Kind::kRefused});
  return batch_.dead_letter(
      {.ns = subject_namespace(input.message.subject).value_or(std::string(kDefaultNamespace)),
       .reason = input.reason,
       .sequence = input.sequence,
       .message = input.message});
}

// Results of evaluations, and instances whose step a later batch continues.

Status Batch::apply_input(TimePoint now, const EvaluatedInput& input) {
  batch_.crash_note.take_instance({input.ns, input.instance});
  LoadedInstance* const loaded = TRY(instances_.load(now, input.ns, input.instance));
  if (loaded == nullptr) return {};
  const EarlyEvents* const early = input.early ? &*input.early : nullptr;
  TRY(instances_.step(now, *loaded, EvaluationDone{input.step, input.results, early}));
  return {};
}

Status Batch::apply_input(TimePoint now, const ContinueInput& input) {
  batch_.crash_note.take_instance({input.ns, input.instance});
  LoadedInstance* const loaded = TRY(instances_.load(now, input.ns, input.instance));
  if (loaded == nullptr) return {};
  TRY(instances_.step(now, *loaded, Proceed{}));
  return {};
}

// The archive.

Status Batch::apply_input(TimePoint now, const ArchivedPage& page) {
  apply_archived(batch_, page, now);
  return {};
}

Status Batch::delete_archived(const WorkBudget* unit) {
  const NamespaceNumber ns = batch_.archive.ns();
  return millrace::delete_archived(
      batch_, [&](uint64_t row) { purges_.begin_history(ns, row); }, unit);
}

// Commands.

Status Batch::apply_input(TimePoint now, const CommandInput& input) {
  Result<CommandProgress> progress = carry_out({.now = now,
                                                .batch = batch_,
                                                .instances = instances_,
                                                .schedules = schedules_,
                                                .purges = purges_,
                                                .unit = &batch_.meter},
                                               input.command);
  if (!progress) {
    // A repetition of the batch would find the same damaged row: only the command is refused.
    const bool is_lost =
        progress.error().code.starts_with("store.") && !is_damaged_row(progress.error());
    if (is_lost) return tl::unexpected(progress.error());
    batch_.after_commit(Answer{input.request, tl::unexpected(progress.error())});
  } else if (auto* const rest = std::get_if<Command>(&*progress)) {
    batch_.after_commit(CommandInput{input.request, std::move(*rest)});
  } else {
    batch_.after_commit(Answer{input.request, std::get<Json>(std::move(*progress))});
  }
  return {};
}

/// Writes one row for the events of this batch, and one for each earlier event that had an effect
/// only now. Erases rows that are too old.
Status Batch::write_effects() {
  const EventPosition newest = batch_.position_of(batch_.cursor.sequence);
  EffectRow own{.at = newest};
  std::map<EventPosition, EffectRow> late;
  for (const PlacedEffect& one : batch_.effects) {
    const bool is_own = first_applied_ && one.event.stream == newest.stream &&
                        one.event >= *first_applied_ && one.event <= newest;
    (is_own ? own : late[one.event]).effects.push_back(one);
  }
  batch_.effects.clear();
  first_applied_.reset();
  if (!own.effects.empty()) {
    own.number = TRY(batch_.next(Counter::kEffects));
    millrace::write_effects(batch_.tx, own);
  }
  for (auto& [position, row] : late) {
    row.at = position;
    row.is_late = true;
    row.number = TRY(batch_.next(Counter::kEffects));
    millrace::write_effects(batch_.tx, row);
  }
  const bool may_have_old_ones = oldest_effects_.stream != newest.stream ||
                                 oldest_effects_.sequence + kEffectsKept < newest.sequence;
  if (!may_have_old_ones) return {};
  oldest_effects_ = TRY(trim_effects(batch_.tx, oldest_effects_, newest, kErasedEffects));
  return {};
}

Result<BatchOutcome> Batch::finish(TimePoint now) {
  TRY(messages_.write());
  begin_limits();
  if (!batch_.unfinished.empty()) TRY(late_matches_.take_over());
  batch_.trims_histories = purges_.size() < Purges::kMost;
  TRY(instances_.write());
  for (const auto& [ns, row] : std::exchange(batch_.trimmed_rows, {})) {
    purges_.begin_history(ns, row);
  }
  if (batch_.archive.has_page()) TRY(send_archive_page(batch_));
  batch_.archive.end_waits(now);
  batch_.kept_events.trim(batch_.tx);
  TRY(count_bytes(batch_));
  TRY(batch_.index.write(batch_.tx, note_damage_));
  TRY(batch_.dedupe.end_batch(batch_.tx, batch_.cursor.stamped, batch_.cursor.sequence));
  // Events without effect may be read again: to move the cursor alone is not worth a sync.
  const bool nothing_else =
      batch_.tx.write_set().empty() && batch_.counters.empty() && !are_effects_due(now);
  const bool writes_cursor =
      cursor_moved_ && (!nothing_else || ++batches_without_effect_ >= kMostWithoutEffect);
  if (writes_cursor && nothing_else) crash_point(CrashPoint::kCursorAlone);
  if (writes_cursor || !nothing_else) TRY(write_effects());
  for (const auto& [counter, number] : batch_.counters) write_counter(batch_.tx, counter, number);
  if (writes_cursor) {
    note_cursor();
    if (counts_rates_) rates_.write();
    write_cursor(batch_.tx, batch_.cursor);
    cursor_moved_ = false;
    batches_without_effect_ = 0;
  }
  if (!batch_.tx.write_set().empty()) write_engine_time(batch_.tx, now);
  batch_.outcome.cursor = batch_.cursor;
  batch_.counters.clear();
  woken_ = 0;
  batch_.outcome.backlog = {
      .has_steps = !messages_.empty() || !fan_outs_.empty() || batch_.late_events > 0,
      .has_purges = purges_.has_work(),
      .fan_out = fan_outs_.left(),
      .undecided = batch_.late_events == 0 ? 0 : batch_.kept_events.undecided().size(),
      .patterns_over_limit = batch_.kept_events.patterns_over_limit(),
      .retention = batch_.retention,
      .has_archived = has_archived(),
      .archive_retry_at = batch_.archive.retry_at(),
      .effects_at = next_effects_at(now)};
  return std::exchange(batch_.outcome, {});
}

}  // namespace millrace
