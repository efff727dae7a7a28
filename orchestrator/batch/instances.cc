#include "orchestrator/batch/instances.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/lazy_json.h"
#include "base/quantity.h"
#include "cloudevents/json_format.h"
#include "model/hops.h"
#include "orchestrator/batch/call_slots.h"
#include "orchestrator/batch/call_waits.h"
#include "orchestrator/batch/check_instance.h"
#include "orchestrator/batch/step_growth.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// How many live heads one batch scans to find the few that a command concerns; this takes about
/// two milliseconds.
constexpr size_t kLookedAtOnce = 500;

/// The part of the quota of its history that an instance may still write after it has raised the
/// error of the quota: an eighth. For its compensations it may write another one.
constexpr uint64_t kHistoryReserve = 8;

/// The indexes of the records whose data is `data`.
std::vector<size_t> those_with(const std::vector<HistoryRecord>& history, const LazyJson& data) {
  std::vector<size_t> places;
  for (size_t i = 0; i < history.size(); ++i) {
    if (history[i].data && history[i].data->shared_text() == data.shared_text()) {
      places.push_back(i);
    }
  }
  return places;
}

/// Whether the last record that has data has `data`.
bool ends_with(const std::vector<HistoryRecord>& history, const LazyJson& data) {
  const auto last = std::find_if(history.rbegin(), history.rend(),
                                 [](const HistoryRecord& record) { return record.data; });
  return last != history.rend() && last->data->shared_text() == data.shared_text();
}

/// The text of the JSON; null if `json` is not set.
std::shared_ptr<const std::string> text_of(const std::optional<LazyJson>& json) {
  return json ? json->shared_text() : nullptr;
}

/// Whether the history is so far over its quota that the instance must end, whatever its state
/// does.
bool is_far_over(const Instance& instance, uint64_t quota) {
  const uint64_t eighths = kHistoryReserve + (instance.compensating ? 2 : 1);
  return quota != kUnlimited && instance.history_bytes >= quota / kHistoryReserve * eighths;
}

/// Sets the instance, and the values that its rows have except those of its calls.
void set_read(LoadedInstance& loaded, Instance&& read) {
  loaded.instance = std::move(read);
  const Instance& instance = loaded.instance;
  loaded.indexed = indexed(instance);
  loaded.data = instance.data.shared_text();
  loaded.had_slots = !instance.slots.empty();
  loaded.had_found_data = instance.found_data.has_value();
  loaded.failed_data = text_of(instance.failed_data);
  loaded.compensations = instance.compensations;
}

bool has_many_calls(const Instance& instance) {
  return instance.calls.size() >= LargeInstances::kFewestCalls;
}

/// Whether LargeInstances may keep the instance. Nearly all instances are small.
bool may_be_large(const Instance& instance) {
  const auto& bytes = instance.part_bytes;
  return has_many_calls(instance) ||
         std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}) > kLargeJson;
}

/// Makes `stored` the calls that the rows have, after the rows of `written` were written.
void bring_up_to_date(std::vector<Call>& stored, const std::vector<Call>& calls,
                      const std::vector<size_t>& written) {
  stored.resize(calls.size());
  for (const size_t index : written) stored[index] = calls[index];
}

/// Whether the history may have to be trimmed.
bool is_long(const Instance& instance) {
  return instance.history_count - instance.history_trimmed > HistoryTrims::kShortRecords ||
         instance.history_bytes > HistoryTrims::kShortBytes;
}

}  // namespace

Result<InstanceId> Instances::start(TimePoint now, const WorkflowEntry& entry,
                                    const Workflow& workflow, StartSpec spec) {
  LoadedInstance& loaded = spec.place.empty()
                               ? begin(now, entry, workflow, std::move(spec))
                               : *TRY(begin_in_place(now, entry, workflow, std::move(spec)));
  if (waits_to_start(loaded.instance)) return loaded.instance.id;
  if (entry.paused) TRY(step(now, loaded, Pause{}));
  TRY(step(now, loaded, Proceed{}));
  return loaded.instance.id;
}

/// An event can be applied a second time, long after the deduplication window: a stream is replaced
/// and comes back with its creation time (a stream that was restored, or another prefix for a
/// while), or the stream loses its tail, and a clock of the broker that was set back makes earlier
/// events look new. Then the event has the same stream, sequence and time. It takes effect again,
/// and must not overwrite the instance that it started before.
Result<InstanceId> Instances::start_by(TimePoint now, const AppliedEvent& applied,
                                       const WorkflowEntry& entry, const Workflow& workflow,
                                       StartSpec spec) {
  const InstanceId id = event_start_id(batch_.id_key, applied, entry.number);
  const bool is_taken =
      !applied.is_new && (loaded_.contains(id) || TRY(has_rows(batch_.tx, entry.ns, id)));
  if (!is_taken) spec.id = id;
  if (applied.late) {
    // The instance gets the events that came after this one. The crash note has no input for an
    // event that is decided late, so the first step is the input of a later batch.
    spec.listen_from = {.kept = applied.late->number, .event = applied.position};
    return start_later(now, entry, workflow, std::move(spec));
  }
  // An event may start many instances: when its unit of work is used up, the others step later.
  if (batch_.meter.is_spent()) return start_later(now, entry, workflow, std::move(spec));
  return start(now, entry, workflow, std::move(spec));
}

Result<InstanceId> Instances::start_later(TimePoint now, const WorkflowEntry& entry,
                                          const Workflow& workflow, StartSpec spec) {
  LoadedInstance& loaded = spec.place.empty()
                               ? begin(now, entry, workflow, std::move(spec))
                               : *TRY(begin_in_place(now, entry, workflow, std::move(spec)));
  const Instance& instance = loaded.instance;
  if (waits_to_start(instance)) return instance.id;
  if (entry.paused) {
    TRY(step(now, loaded, Pause{}));
    return instance.id;
  }
  TRY(batch_.publish_lifecycle(instance, loaded.history, 1));
  batch_.after_commit(ContinueInput{instance.ns, instance.id, instance.revision.workflow});
  TRY(note(instance));
  return instance.id;
}

LoadedInstance& Instances::begin(TimePoint now, const WorkflowEntry& entry,
                                 const Workflow& workflow, StartSpec spec) {
  ++batch_.outcome.counts.instances_started;
  const InstanceId id = spec.id ? *spec.id : batch_.make_id(now);
  batch_.live.began(entry.ns, entry.number);
  LoadedInstance& loaded = loaded_[id];
  loaded.is_new = true;
  batch_.meter.add_change();
  loaded.instance =
      make_instance(id, entry.ns, {entry.number, entry.latest}, workflow, std::move(spec.data), now,
                    spec.listen_from.value_or(batch_.listen_from_now()), spec.origin);
  loaded.instance.idempotency_key = std::move(spec.idempotency_key);
  loaded.instance.hops = spec.hops;
  loaded.instance.caller = spec.caller;
  loaded.instance.depth = spec.depth;
  loaded.instance.sealed = workflow.sealed ? Sealing::kHidden : spec.sealed.level();
  loaded.instance.traceparent = std::move(spec.traceparent);
  loaded.instance.correlation = std::move(spec.correlation);
  loaded.instance.start_event = std::move(spec.start_event);
  loaded.instance.consumed = std::move(spec.consumed);
  loaded.data = loaded.instance.data.shared_text();
  loaded.history.push_back(
      {.time = now, .kind = HistoryKind::kStarted, .detail = std::move(spec.how)});
  return loaded;
}

/// A damaged instance is skipped, so that other inputs can still be applied after an input that
/// concerns this instance.
Result<LoadedInstance*> Instances::load(TimePoint now, NamespaceNumber ns, const InstanceId& id) {
  Result<LoadedInstance*> loaded = load_undamaged(now, ns, id);
  if (loaded || !is_damaged_row(loaded.error())) return loaded;
  ++batch_.outcome.counts.instances_damaged;
  batch_.damages.note(loaded.error());
  return nullptr;
}

Result<LoadedInstance*> Instances::load_undamaged(TimePoint now, NamespaceNumber ns,
                                                  const InstanceId& id) {
  if (const auto found = loaded_.find(id); found != loaded_.end()) {
    // A command may name an instance of another namespace.
    return found->second.instance.ns == ns ? &found->second : nullptr;
  }
  if (!batch_.catalog.has_namespace(ns)) return nullptr;  // the namespace was deleted
  if (large_ != nullptr) {
    if (std::optional<KeptInstance> kept = large_->take(ns, id)) {
      LoadedInstance& loaded = loaded_[id];
      loaded.calls = std::move(kept->calls);
      set_read(loaded, std::move(kept->instance));
      return &loaded;
    }
  }
  std::optional<Instance> read = TRY(read_undamaged(now, ns, id));
  if (!read) return nullptr;
  LoadedInstance& loaded = loaded_[id];
  loaded.calls = read->calls;
  set_read(loaded, *std::move(read));
  return &loaded;
}

/// Reads a live instance and checks that it fits its definition; nullopt: there is none.
Result<std::optional<Instance>> Instances::read_undamaged(TimePoint now, NamespaceNumber ns,
                                                          const InstanceId& id) {
  auto instance = TRY(read_live(batch_.tx, ns, id));
  if (!instance) return instance;
  TRY(batch_.catalog.check_owner(*instance));
  const auto workflow = TRY(batch_.catalog.definition(batch_.tx, instance->revision));
  TRY(check_instance(*workflow, *instance, now));
  return instance;
}

Result<LoadedInstance*> Instances::revive(TimePoint now, const WorkflowEntry& entry,
                                          Instance ended) {
  // The limits are those of the newest revision, as for the instances that start.
  const auto newest = TRY(batch_.catalog.definition(batch_.tx, {entry.number, entry.latest}));
  TRY(refuse_singular(entry, *newest));
  std::optional<Slot> slot = TRY(slot_of_revived(now, entry, *newest, ended.input));
  if (const auto over = TRY(quotas_.refusal_of_start(entry.ns))) return tl::unexpected(*over);
  batch_.index.remove(batch_.tx, indexed(ended));
  revive_rows(batch_.tx, ended);
  batch_.live.began(entry.ns, entry.number);
  // Events that came before the new run do not wake the instance.
  ended.listen_from = batch_.listen_from_now();
  if (slot) ended.slot = TRY(take_slot(batch_, ended, *std::move(slot), slots_of(*newest), now));
  LoadedInstance& loaded = loaded_[ended.id];
  // `is_new`: write() must write all rows but those of the compensations.
  loaded = {.instance = std::move(ended), .is_new = true};
  loaded.compensations = loaded.instance.compensations;
  batch_.meter.add_change();
  return &loaded;
}

Result<bool> Instances::step(TimePoint now, LoadedInstance& loaded, const Stimulus& stimulus) {
  const bool changed = TRY(step_once(now, loaded, stimulus));
  if (changed) TRY(offer_kept_events(now, loaded));
  return changed;
}

Result<bool> Instances::step_once(TimePoint now, LoadedInstance& loaded, const Stimulus& stimulus) {
  Instance& instance = loaded.instance;
  const auto workflow = TRY(batch_.catalog.definition(batch_.tx, instance.revision));
  batch_.crash_note.stepping({instance.ns, instance.id});
  const Quotas::OfStep quotas = TRY(quotas_.of_step(instance));
  EngineLimits limits = batch_.limits;
  limits.exceeded = quotas.exceeded;
  limits.budget = &batch_.meter;
  const bool was_over_bytes = instance.over_bytes;
  const bool was_paused = instance.paused;
  const bool was_cancelling = instance.cancelling;
  // The rows of the run before leave the store when the next run begins.
  const bool may_grow =
      std::holds_alternative<Abandon>(stimulus) || std::holds_alternative<NextRun>(stimulus);
  std::optional<Instance> before;
  if (quotas.is_far_beyond && !may_grow) before = instance;
  StepResult result = millrace::step(*workflow, instance, stimulus, now, lookup_, limits);
  TRY(lookup_.take_status());
  if (!result.changed) return false;
  if (before && !fits_far_beyond(*before, stimulus, instance, result)) {
    instance = *std::move(before);
    const Error error = refuse_over_quota(batch_, instance.ns, Quota::kStoreBytes);
    return step_once(now, loaded, Abandon{.error = error, .writes_little = true});
  }
  if (quotas.exceeded && instance.over_bytes && !was_over_bytes) {
    refuse_over_quota(batch_, instance.ns, quotas.exceeded->quota);
  }
  if (!loaded.changed && !loaded.is_new) batch_.meter.add_change();
  loaded.changed = true;
  if (!result.only_call && !result.only_removes_calls) {
    loaded.changed_calls.reset();
  } else if (result.only_call && loaded.changed_calls) {
    loaded.changed_calls->push_back(*result.only_call);
  }
  batch_.meter.add_bytes(result.bytes);
  if (instance.data.known_text() != loaded.data) batch_.meter.add_bytes(instance.data.known_size());
  if (std::holds_alternative<Resume>(stimulus)) {
    // The runners reported nothing about the calls while the instance was paused: restart the
    // heartbeat timeouts of the calls.
    for (const Call& call : instance.calls) {
      if (call.started) batch_.tasks.heard(call.id);
    }
  }
  batch_.count_compensations(result.history);
  TRY(publish_lifecycle(loaded, result.history));
  if (loaded.history.empty()) {
    loaded.history = std::move(result.history);
  } else {
    for (HistoryRecord& record : result.history) loaded.history.push_back(std::move(record));
  }
  for (Effect& effect : result.effects) TRY(batch_.stage(instance, std::move(effect)));
  if (!was_cancelling && instance.cancelling) {
    TRY(end_waiting_calls(batch_, instance));
  } else if (was_paused && !instance.paused) {
    TRY(rejoin_calls(batch_, instance, now));
  } else if (!was_paused && instance.paused) {
    TRY(leave_out_calls(batch_, instance, now));
  }
  if (const auto* const resumed = std::get_if<ServicesResumed>(&stimulus)) {
    TRY(restart_call_waits(batch_, instance, *resumed, now));
  }
  for (const TakenEarly& one : result.early) note_taken(instance.id, one.at, one.known_as);
  if (result.has_early_left) {
    offer_later(instance, std::get<EvaluationDone>(stimulus), result.early.size());
  }
  if (result.next_run) {
    TRY(begin_next_run(now, loaded, *std::move(result.next_run)));
    return true;
  }
  if (result.unfinished)
    batch_.after_commit(ContinueInput{instance.ns, instance.id, instance.revision.workflow});
  if (instance.paused != was_paused && is_throttled(instance) && !has_ended(instance.status)) {
    TRY(hold_throttled(now, instance));
  }
  if (has_ended(instance.status)) {
    if (instance.throttled) TRY(leave_throttle(instance));
    if (instance.slot) TRY(free_slot(instance, stimulus));
    batch_.after_commit(InstanceEnd{instance.id});
    batch_.live.ended(instance.ns, instance.revision.workflow);
    ++batch_.outcome.counts.ended[static_cast<size_t>(instance.status)];
  }
  TRY(note(instance));
  if (is_far_over(instance, quotas.history_bytes) && !has_ended(instance.status)) {
    Error error = refuse_over_quota(batch_, instance.ns, Quota::kHistoryBytes);
    error.message +=
        fmt::format("; it has {}, at least an eighth more than the quota, so no `catch` applies",
                    format_bytes(instance.history_bytes));
    TRY(step_once(now, loaded, Abandon{std::move(error)}));
  }
  return true;
}

/// Publishes lifecycle events for the records of a step; for a new instance first the event for its
/// first record.
Status Instances::publish_lifecycle(const LoadedInstance& loaded,
                                    const std::vector<HistoryRecord>& records) {
  const uint64_t known = loaded.instance.history_count;
  const bool is_first = loaded.is_new && known == 0 && loaded.history.size() == 1 &&
                        loaded.history.front().kind == HistoryKind::kStarted;
  if (!is_first) {
    return batch_.publish_lifecycle(loaded.instance, records, known + loaded.history.size() + 1);
  }
  if (!batch_.catalog.settings(loaded.instance.ns).has_lifecycle_events()) return {};
  std::vector<HistoryRecord> all = loaded.history;
  all.insert(all.end(), records.begin(), records.end());
  return batch_.publish_lifecycle(loaded.instance, all, 1);
}

/// Updates the caches after a change of the instance.
Status Instances::note(const Instance& instance) {
  TRY(batch_.waiting.update(batch_.catalog.name_of(instance.ns), instance));
  batch_.kept_events.update(
      instance, TRY(batch_.catalog.awaited(batch_.tx, instance.revision, instance.state)));
  return {};
}

uint32_t Instances::compensations_of(const InstanceId& id) const {
  const auto found = loaded_.find(id);
  if (found == loaded_.end()) return 0;
  return std::max(found->second.compensations, found->second.instance.compensations);
}

Result<Instances::Page> Instances::live(
    NamespaceNumber ns, const std::optional<InstanceId>& behind, size_t most,
    const std::function<bool(const Instance& head)>& is_one) const {
  Page some;
  size_t looked_at = 0;
  const auto is_enough = [&] { return looked_at >= kLookedAtOnce || some.ids.size() >= most; };
  TRY(each_live(
      batch_.tx, ns, behind,
      [&](const Instance& head) {
        ++looked_at;
        some.last = head.id;
        if (!loaded_.contains(head.id) && is_one(head)) some.ids.push_back(head.id);
        return !is_enough();
      },
      batch_.damages.noting()));
  if (!is_enough()) some.last.reset();
  // Looks first at the instances that this batch has loaded or started, whose changed rows are not
  // written yet.
  auto next = behind ? loaded_.upper_bound(*behind) : loaded_.begin();
  const auto end = some.last ? loaded_.upper_bound(*some.last) : loaded_.end();
  for (; next != end; ++next) {
    const Instance& instance = next->second.instance;
    if (instance.ns != ns || has_ended(instance.status)) continue;
    if (is_one(instance)) some.ids.push_back(instance.id);
  }
  return some;
}

Result<bool> Instances::trim_stored(Instance head, PurgeBudget& budget) {
  const auto loaded = loaded_.find(head.id);
  const bool is_written =
      loaded != loaded_.end() && (loaded->second.changed || loaded->second.is_new);
  if (is_written) return true;
  const IndexedInstance before = indexed(head);
  const uint64_t trimmed = head.history_trimmed;
  if (!TRY(trims_.trim_stored(head, budget))) return false;
  if (head.history_trimmed == trimmed) return true;
  write_head(batch_.tx, head);
  batch_.index.change(batch_.tx, before, indexed(head));
  // Copies in memory have the old head.
  if (loaded != loaded_.end()) loaded_.erase(loaded);
  if (large_ != nullptr) large_->take(head.ns, head.id);
  return true;
}

Status Instances::write() {
  const bool is_watched = batch_.watch != nullptr && batch_.watch->is_watched();
  for (auto& [id, loaded] : loaded_) {
    if (!loaded.changed && !loaded.is_new) continue;
    Instance& instance = loaded.instance;
    const bool ends_history = ends_with(loaded.history, instance.data);
    if (!loaded.history.empty()) {
      std::vector<size_t> with_input;  // the records whose data equals the input; a loaded instance
                                       // does not have its input
      if (loaded.is_new || loaded.has_new_input) {
        with_input = those_with(loaded.history, instance.input);
      }
      const uint64_t number = TRY(batch_.next(Counter::kHistory));
      instance.history_count += loaded.history.size();
      instance.history_bytes += write_history(batch_.tx, number,
                                              {.ns = instance.ns,
                                               .instance = instance.id,
                                               .previous = instance.last_history,
                                               .records = std::move(loaded.history),
                                               .with_input = std::move(with_input),
                                               .sealed = instance.sealed});
      instance.last_history = number;
      if (is_long(instance)) TRY(trims_.trim(instance));
    }
    std::vector<size_t> written;
    bool leaves_compensations = false;
    write_instance(batch_.tx, instance,
                   {.is_new = loaded.is_new,
                    .input = loaded.is_new || loaded.has_new_input,
                    .data = instance.data.shared_text() != loaded.data,
                    .ends_history = ends_history,
                    .slots = loaded.had_slots || !instance.slots.empty(),
                    .found_data = loaded.had_found_data || instance.found_data,
                    .failed_data = text_of(instance.failed_data) != loaded.failed_data,
                    .calls = &loaded.calls,
                    .changed_calls = loaded.changed_calls ? &*loaded.changed_calls : nullptr,
                    .compensations = loaded.compensations,
                    .leaves_compensations = &leaves_compensations,
                    .written_calls = has_many_calls(instance) ? &written : nullptr});
    if (leaves_compensations) {
      batch_.dropped_compensations.push_back({instance.ns, instance.id});
    }
    if (has_many_calls(instance)) bring_up_to_date(loaded.calls, instance.calls, written);
    if (loaded.indexed) {
      batch_.index.change(batch_.tx, *loaded.indexed, indexed(instance));
    } else {
      batch_.index.add(batch_.tx, indexed(instance));
    }
    if (is_watched) batch_.show(instance);
  }
  for (auto& [id, loaded] : loaded_) {
    Instance& instance = loaded.instance;
    if (!may_be_large(instance)) continue;
    if (large_ == nullptr) large_ = std::make_unique<LargeInstances>();
    if (!has_many_calls(instance)) loaded.calls = instance.calls;
    large_->put({std::move(instance), std::move(loaded.calls)});
  }
  loaded_.clear();
  return {};
}

}  // namespace millrace
