#include "orchestrator/batch/batch.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "model/service_url.h"
#include "orchestrator/batch/archived_instances.h"
#include "orchestrator/batch/commands/commands.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/damage.h"
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
  batch_.staged.clear();
  TRY(load_newest());
  rates_.clear();
  TRY(purges_.load());
  TRY(messages_.load());
  TRY(fan_outs_.load());
  TRY(queues_.load());
  TRY(calls_.load());
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
  batch_.staged.undo();
  batch_.archive.undo();
  retention_.undo();
  rates_.undo();
  TRY(messages_.load());
  TRY(fan_outs_.load());
  TRY(queues_.load());
  TRY(calls_.load());
  return late_matches_.load();
}

void Batch::begin_limits() {
  messages_.begin_batch(limits_.messages);
  fan_outs_.begin_batch(limits_.woken_later);
  queues_.begin_batch(limits_.admitted);
  calls_.begin_batch(limits_.admitted_calls);
  late_matches_.begin_batch();
  batch_.kept_budget = limits_.kept;
}

std::vector<WorkLane> Batch::unfinished() const {
  std::vector<WorkLane> lanes = messages_.lanes();
  for (const std::vector<WorkLane>& others :
       {late_matches_.lanes(), fan_outs_.lanes(), queues_.lanes(), calls_.lanes()}) {
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
  } else if (fan_outs_.may_go_on(lane)) {
    batch_.meter.set_kind(UnitKind::kFanOut);
    TRY(fan_outs_.go_on(now, lane));
  } else if (queues_.may_go_on(lane)) {
    batch_.meter.set_kind(UnitKind::kContinuation);
    TRY(queues_.go_on(now, lane));
  } else {
    batch_.meter.set_kind(UnitKind::kContinuation);
    TRY(calls_.go_on(now, lane));
  }
  TRY(messages_.run(now));
  TRY(give_slots(now));
  return late_matches_.take_over();
}

/// Gives away the slots that this unit of work has freed.
Status Batch::give_slots(TimePoint now) {
  // What gets its slot may have to wait for the throttle, whose key is then new.
  while (queues_.has_new() || calls_.has_new()) {
    if (queues_.has_new()) TRY(queues_.run(now));
    if (calls_.has_new()) TRY(calls_.run(now));
    // A start that has got its turn may have ended, too, and its caller gets the result.
    TRY(messages_.run(now));
  }
  return {};
}

Result<bool> Batch::abandon_instance(TimePoint now, NamespaceNumber ns, const InstanceId& id) {
  LoadedInstance* const loaded = TRY(instances_.load(now, ns, id));
  if (loaded == nullptr) return false;
  TRY(instances_.step(now, *loaded,
                      Abandon{{std::string(kPoison),
                               "the server process died repeatedly while it processed this "
                               "instance"}}));
  TRY(messages_.run(now));
  TRY(give_slots(now));
  TRY(late_matches_.take_over());
  return true;
}

Status Batch::give_up_webhook(const WebhookRecord& webhook, const Error& reason) {
  const std::string& ns = batch_.catalog.name_of(webhook.ns);
  const Result<Event> event = decode_json_event(webhook.event, kStoredEvents);
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

// Results of evaluations, and instances whose step a later batch continues.

Status Batch::apply_input(TimePoint now, const EvaluatedInput& input) {
  batch_.crash_note.take_instance({input.ns, input.instance});
  LoadedInstance* const loaded = TRY(instances_.load(now, input.ns, input.instance));
  if (loaded == nullptr) return {};
  const EarlyEvents* const early = input.early ? &*input.early : nullptr;
  TRY(instances_.step(now, *loaded,
                      EvaluationDone{input.step, input.results, early, input.asked_at}));
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
                                                .tasks = task_inputs_,
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
  TRY(purges_.begin_compensations());
  purges_.begin_pieces();
  if (batch_.archive.has_page()) TRY(send_archive_page(batch_));
  batch_.archive.end_waits(now);
  batch_.kept_events.trim(batch_.tx);
  if (batch_.start_rates_due <= now && !batch_.tx.write_set().empty()) {
    TRY(instances_.rates().sweep(now));
  }
  TRY(count_bytes(batch_));
  TRY(batch_.index.write(batch_.tx, note_damage_));
  TRY(batch_.dedupe.end_batch(batch_.tx, batch_.cursor.stamped, batch_.cursor.sequence));
  batch_.origins.write();
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
      .has_steps = !messages_.empty() || !fan_outs_.empty() || !queues_.empty() ||
                   !calls_.empty() || batch_.late_events > 0,
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
