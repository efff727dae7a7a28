#include "orchestrator/batch/batch.h"

#include <fmt/format.h>

#include "base/check.h"
#include "cloudevents/json_format.h"
#include "cloudevents/subject.h"
#include "orchestrator/batch/commands/commands.h"
#include "orchestrator/batch/event_start.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// How many batches may move the cursor and nothing else before it is written all the same: what a
/// restart reads again at most.
constexpr uint32_t kMostWithoutEffect = 64;

}  // namespace

Status Batch::load() {
  instances_.clear();
  draft_.counters.clear();
  draft_.outcome = {};
  draft_.cursor = TRY(read_cursor(draft_.tx));
  cursor_moved_ = false;
  woken_ = 0;
  errands_.begin_batch(limits_.errands);
  TRY(purges_.load());
  TRY(errands_.load());
  return fan_outs_.load();
}

Status Batch::undo() {
  instances_.clear();
  draft_.counters.clear();
  draft_.outcome = {};
  if (const auto before = before_.take()) {
    draft_.cursor = before->cursor;
    cursor_moved_ = before->moved;
  }
  woken_ = 0;
  errands_.begin_batch(limits_.errands);
  purges_.undo();
  TRY(errands_.load());
  return fan_outs_.load();
}

Status Batch::go_on(TimePoint now) {
  TRY(errands_.run(now));
  TRY(fan_outs_.go_on(now, limits_.woken_later));
  return errands_.run(now);
}

Result<bool> Batch::set_aside(TimePoint now, NamespaceNumber space, const InstanceId& id) {
  Touched* const touched = TRY(instances_.touch(now, space, id));
  if (touched == nullptr) return false;
  TRY(instances_.step(now, *touched,
                      Abandon{{std::string(kPoison),
                               "this process died again and again while it went on with this "
                               "instance"}}));
  TRY(errands_.run(now));
  return true;
}

Status Batch::set_aside(const HookRecord& hook, const Error& reason) {
  const std::string& space = draft_.catalog.name_of(hook.space);
  const Result<Event> event = decode_json_event(hook.event);
  if (!event) {
    draft_.damages.note(
        {std::string(kDamagedRow),
         fmt::format("the event for {} does not decode: {}", hook.url, event.error().message)});
    return {};
  }
  return draft_.dead_letter(
      {.space = space,
       .reason = {reason.code, fmt::format("{} did not take it in {} attempts: {}", hook.url,
                                           hook.attempt, reason.message)},
       .message = event_message(space, *event)},
      hook.sealed);
}

void Batch::stream_opened(const Cursor& position) {
  if (draft_.cursor == position) return;
  note_cursor();
  draft_.cursor = position;
  cursor_moved_ = true;
}

/// Before the batch in hand changes it.
void Batch::note_cursor() {
  auto* const before = before_.now();
  if (before != nullptr && !*before) *before = {draft_.cursor, cursor_moved_};
}

void Batch::moved_to(uint64_t sequence, TimePoint stamped) {
  note_cursor();
  draft_.cursor.sequence = sequence;
  draft_.cursor.stamped = stamped;
  cursor_moved_ = true;
}

// Events.

Status Batch::take(TimePoint now, const EventInput& input) {
  draft_.in_hand.take_event(input.sequence);
  ++draft_.outcome.counts.events;
  moved_to(input.sequence, input.stamped);
  TRY(draft_.dedupe.move_to(draft_.tx, input.stamped));
  const EventRoute route = route_event(views_, input, limits_.woken);
  const bool is_unmatched = route.kind != EventRoute::Kind::kNoNamespace && !route.matched;
  if (is_unmatched) ++draft_.outcome.counts.events_unmatched;
  switch (route.kind) {
    case EventRoute::Kind::kNoNamespace:
      return refuse(input);
    case EventRoute::Kind::kUnmatched:
      return {};
    case EventRoute::Kind::kDuplicate:
      ++draft_.outcome.counts.events_duplicate;
      return {};
    case EventRoute::Kind::kTargets:
      return send_to(now, input.sequence, route);
  }
  return {};
}

Status Batch::refuse(const EventInput& input) {
  return draft_.dead_letter(
      {.space = input.space,
       .reason = {"namespace.not_found", fmt::format("there is no namespace \"{}\"", input.space)},
       .sequence = input.sequence,
       .message = event_message(input.space, input.event.event())});
}

Status Batch::send_to(TimePoint now, uint64_t sequence, const EventRoute& route) {
  const bool kept = route.is_wanted;
  if (kept || route.fans_out) {
    draft_.recent.keep(draft_.tx, route.space, route.event, route.known_as);
  }
  bool had_effect = route.fans_out;
  for (const StartTarget& target : route.targets.starts) {
    had_effect |= TRY(offer_start(now, sequence, route.event, target));
  }
  if (route.fans_out) {
    TRY(fan_outs_.begin(route.targets.instances));
  } else {
    for (const InstanceTarget& target : route.targets.instances) {
      had_effect |= TRY(offer(now, route.event, target, kept));
    }
    woken_ += route.targets.instances.size();
  }
  if (had_effect) draft_.dedupe.add(route.known_as);
  return {};
}

Result<bool> Batch::offer(TimePoint now, const Event& event, const InstanceTarget& target,
                          bool kept) {
  Touched* const touched = TRY(instances_.touch(now, target.space, target.instance));
  if (touched == nullptr) return false;
  // Where an event is still under way to its targets, those behind it are kept: this instance may
  // have to get that one first, and then gets this one in its turn.
  if (kept && !fan_outs_.empty()) return instances_.offer_recent(now, *touched);
  const bool woken = TRY(instances_.step(
      now, *touched,
      Matched{.event = &event, .entries = target.entries, .position = draft_.recent.last()}));
  if (woken) ++draft_.outcome.counts.instances_woken;
  return woken;
}

Status Batch::take(TimePoint, const UnreadableInput& input) {
  draft_.in_hand.take_event(input.sequence);
  ++draft_.outcome.counts.events_unreadable;
  moved_to(input.sequence, input.stamped);
  return draft_.dead_letter(
      {.space = subject_namespace(input.message.subject).value_or(std::string(kDefaultNamespace)),
       .reason = input.reason,
       .sequence = input.sequence,
       .message = input.message});
}

Result<bool> Batch::offer_start(TimePoint now, uint64_t sequence, const Event& event,
                                const StartTarget& target) {
  const WorkflowEntry* const entry = draft_.catalog.find_workflow(target.workflow);
  CHECK(entry != nullptr, "a workflow that is gone still listens");
  const auto found = draft_.catalog.definition(draft_.tx, {entry->number, entry->latest});
  if (!found && is_damaged_row(found.error())) {
    draft_.damages.note(found.error());
    return false;
  }
  const auto workflow = TRY(found);
  const Start& start_of = workflow->start;
  if (start_of.kind == Start::Kind::kEventsAnd) {
    return groups_.offer(now, sequence, event, *entry, *workflow, target.entries);
  }
  if (instances_.skips(*entry, *workflow)) return true;
  const size_t which = target.entries.front();
  TRY(instances_.start(
      now, *entry, *workflow,
      start_by_events(entry->latest, {&start_of.events[which], 1}, {&event, 1}, event)));
  return true;
}

// Results.

Status Batch::take(TimePoint now, const EvaluatedInput& input) {
  draft_.in_hand.take_instance({input.space, input.instance});
  Touched* const touched = TRY(instances_.touch(now, input.space, input.instance));
  if (touched == nullptr) return {};
  TRY(instances_.step(now, *touched, Resumed{.step = input.step, .results = input.results}));
  return {};
}

Status Batch::take(TimePoint now, const ContinueInput& input) {
  draft_.in_hand.take_instance({input.space, input.instance});
  Touched* const touched = TRY(instances_.touch(now, input.space, input.instance));
  if (touched == nullptr) return {};
  TRY(instances_.step(now, *touched, Proceed{}));
  return {};
}

// Commands.

Status Batch::take(TimePoint now, const CommandInput& input) {
  Result<CommandProgress> progress = carry_out({.now = now,
                                                .draft = draft_,
                                                .instances = instances_,
                                                .schedules = schedules_,
                                                .purges = purges_},
                                               input.command);
  if (!progress) {
    // What is damaged stays so: this command is refused, and the batch goes on.
    const bool is_lost =
        progress.error().code.starts_with("store.") && !is_damaged_row(progress.error());
    if (is_lost) return tl::unexpected(progress.error());
    draft_.after_commit(Answer{input.request, tl::unexpected(progress.error())});
  } else if (auto* const rest = std::get_if<Command>(&*progress)) {
    draft_.after_commit(CommandInput{input.request, std::move(*rest)});
  } else {
    draft_.after_commit(Answer{input.request, std::get<Json>(std::move(*progress))});
  }
  return {};
}

Result<BatchOutcome> Batch::finish(TimePoint now) {
  TRY(errands_.write());
  errands_.begin_batch(limits_.errands);
  TRY(instances_.write());
  draft_.recent.trim(draft_.tx);
  for (const auto& [counter, number] : draft_.counters) write_counter(draft_.tx, counter, number);
  TRY(draft_.dedupe.end_batch(draft_.tx, draft_.cursor.stamped, draft_.cursor.sequence));
  // Events without effect may be read again, so the cursor alone is not worth a sync.
  const bool nothing_else = draft_.tx.write_set().empty();
  if (cursor_moved_ && (!nothing_else || ++batches_without_effect_ >= kMostWithoutEffect)) {
    if (nothing_else) crash_point(CrashPoint::kCursorAlone);
    note_cursor();
    write_cursor(draft_.tx, draft_.cursor);
    cursor_moved_ = false;
    batches_without_effect_ = 0;
  }
  if (!draft_.tx.write_set().empty()) write_engine_time(draft_.tx, now);

  draft_.counters.clear();
  woken_ = 0;
  draft_.outcome.backlog = {.has_steps = !draft_.errands.empty() || !fan_outs_.empty(),
                            .has_purges = !purges_.empty(),
                            .fan_out = fan_outs_.left()};
  return std::exchange(draft_.outcome, {});
}

}  // namespace millrace
