#include "orchestrator/batch/instances.h"

#include <algorithm>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "model/hops.h"
#include "orchestrator/batch/check_instance.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/doubtful_head.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// How many of those living a batch looks at for the few that a command concerns: some
/// milliseconds.
constexpr size_t kLookedAtOnce = 10'000;

/// The places of the records that have this for their data.
std::vector<size_t> those_with(const std::vector<HistoryRecord>& history, const LazyJson& data) {
  std::vector<size_t> places;
  for (size_t i = 0; i < history.size(); ++i) {
    if (history[i].data && history[i].data->shared_text() == data.shared_text()) {
      places.push_back(i);
    }
  }
  return places;
}

/// Whether the last of the records that has data has this.
bool ends_with(const std::vector<HistoryRecord>& history, const LazyJson& data) {
  const auto last = std::find_if(history.rbegin(), history.rend(),
                                 [](const HistoryRecord& record) { return record.data; });
  return last != history.rend() && last->data->shared_text() == data.shared_text();
}

/// null: there is none.
std::shared_ptr<const std::string> text_of(const std::optional<LazyJson>& json) {
  return json ? json->shared_text() : nullptr;
}

}  // namespace

Status Instances::refuse_singular(const WorkflowEntry& entry, const Workflow& workflow) const {
  if (!workflow.singular || !draft_.living.any(entry.number)) return {};
  return fail(
      "direktiv.mutex",
      fmt::format("workflow \"{}\" is singular, and an instance of it has not ended", entry.id));
}

bool Instances::skips(const WorkflowEntry& entry, const Workflow& workflow) {
  if (refuse_singular(entry, workflow)) return false;
  ++draft_.outcome.counts.starts_skipped;
  return true;
}

Result<InstanceId> Instances::start(TimePoint now, const WorkflowEntry& entry,
                                    const Workflow& workflow, StartSpec spec) {
  Touched& touched = begin(now, entry, workflow, std::move(spec));
  if (entry.paused) TRY(step(now, touched, Pause{}));
  TRY(step(now, touched, Proceed{}));
  return touched.instance.id;
}

Result<InstanceId> Instances::start_later(TimePoint now, const WorkflowEntry& entry,
                                          const Workflow& workflow, StartSpec spec) {
  Touched& touched = begin(now, entry, workflow, std::move(spec));
  const Instance& instance = touched.instance;
  if (entry.paused) {
    TRY(step(now, touched, Pause{}));
    return instance.id;
  }
  TRY(draft_.tell(instance, touched.history, 1));
  draft_.after_commit(ContinueInput{instance.space, instance.id});
  TRY(note(instance));
  return instance.id;
}

Touched& Instances::begin(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                          StartSpec spec) {
  ++draft_.outcome.counts.instances_started;
  const InstanceId id = spec.id ? *spec.id : draft_.make_id(now);
  draft_.living.began(entry.number);
  Touched& touched = touched_[id];
  touched.is_new = true;
  touched.instance =
      make_instance(id, entry.space, {entry.number, entry.latest}, workflow, std::move(spec.data),
                    now, spec.listen_from.value_or(draft_.recent.last()), spec.origin);
  touched.instance.idempotency_key = std::move(spec.idempotency_key);
  touched.instance.hops = spec.hops;
  touched.instance.caller = spec.caller;
  touched.instance.depth = spec.depth;
  touched.instance.sealed = spec.sealed;
  touched.instance.traceparent = std::move(spec.traceparent);
  touched.instance.correlation = std::move(spec.correlation);
  touched.data = touched.instance.data.shared_text();
  touched.history.push_back(
      {.time = now, .kind = HistoryKind::kStarted, .detail = std::move(spec.how)});
  return touched;
}

/// One whose rows are damaged is passed over: an input that concerns it must not keep all others
/// from being applied.
Result<Touched*> Instances::touch(TimePoint now, NamespaceNumber space, const InstanceId& id) {
  Result<Touched*> touched = touch_sound(now, space, id);
  if (touched || !is_damaged_row(touched.error())) return touched;
  ++draft_.outcome.counts.instances_damaged;
  draft_.damages.note(touched.error());
  return nullptr;
}

Result<Touched*> Instances::touch_sound(TimePoint now, NamespaceNumber space,
                                        const InstanceId& id) {
  if (const auto found = touched_.find(id); found != touched_.end()) return &found->second;
  if (!draft_.catalog.has_namespace(space)) return nullptr;  // it was deleted
  auto instance = TRY(read_living(draft_.tx, space, id));
  if (!instance) return nullptr;
  TRY(draft_.catalog.check_owner(*instance));
  const auto workflow = TRY(draft_.catalog.definition(draft_.tx, instance->revision));
  TRY(check_instance(*workflow, *instance, now));
  Touched& touched = touched_[id];
  touched.instance = std::move(*instance);
  touched.data = touched.instance.data.shared_text();
  touched.had_slots = !touched.instance.slots.empty();
  touched.had_found_data = touched.instance.found_data.has_value();
  touched.failed_data = text_of(touched.instance.failed_data);
  touched.calls = touched.instance.calls;
  return &touched;
}

Result<Instances::Removed> Instances::remove_damaged(NamespaceNumber space, const InstanceId& id) {
  const auto read = read_head_anywhere(draft_.tx, space, id);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  // One whose workflow is another namespace's may be a copy: what it names is not its own.
  const bool is_own = read && *read && draft_.catalog.check_owner(**read);
  std::optional<Instance> doubtful;
  if (!is_own) doubtful = TRY(read_doubtful_head(draft_.tx, space, id));
  Removed removed{.rows = TRY(erase_parts(draft_.tx, space, id))};
  if (doubtful) {
    removed.last_history = doubtful->last_history;
    erase_idempotency(draft_.tx, *doubtful);
  }
  if (is_own) {
    const Instance& head = **read;
    removed.last_history = head.last_history;
    erase_idempotency(draft_.tx, head);
    if (!has_ended(head.status)) {
      draft_.living.ended(head.revision.workflow);
      if (head.caller) {
        draft_.errands.push_back(
            {ReturnResult{.space = space,
                          .to = *head.caller,
                          .result = tl::unexpected(Error{
                              "direktiv.cancels.api", "the subflow was damaged and is removed"})},
             draft_.recent.last()});
      }
    }
  }
  for (const InstanceId& task : draft_.tasks.of(id)) {
    draft_.tasks.end(draft_.tx, task);
    draft_.after_commit(StopTask{task});
  }
  draft_.recent.forget(id);
  TRY(draft_.waiting.update("", Instance{.id = id, .space = space}));
  draft_.after_commit(InstanceEnd{id});
  return removed;
}

Result<Touched*> Instances::revive(const WorkflowEntry& entry, const Workflow& workflow,
                                   Instance ended) {
  TRY(refuse_singular(entry, workflow));
  erase_ended(draft_.tx, ended);
  draft_.living.began(entry.number);
  ended.listen_from = draft_.recent.last();  // what came while it had ended is not for it
  Touched& touched = touched_[ended.id];
  touched = {.instance = std::move(ended), .is_new = true};  // all of its rows are to be written
  return &touched;
}

Result<bool> Instances::step(TimePoint now, Touched& touched, const Stimulus& stimulus) {
  const bool changed = TRY(step_once(now, touched, stimulus));
  if (changed) TRY(offer_recent(now, touched));
  return changed;
}

Result<bool> Instances::offer_recent(TimePoint now, Touched& touched) {
  const Instance& instance = touched.instance;
  bool changed = false;
  while (instance.phase == Phase::kWaiting && !instance.listeners.empty()) {
    const auto match = TRY(draft_.recent.find(draft_.tx, instance));
    if (!match) return changed;
    changed = true;
    TRY(step_once(
        now, touched,
        Matched{
            .event = match->event.get(), .entries = match->entries, .position = match->number}));
    ++draft_.outcome.counts.instances_woken;
    const Fingerprint known_as =
        fingerprint_of(draft_.catalog.name_of(instance.space), *match->event);
    if (!draft_.dedupe.seen(known_as)) draft_.dedupe.add(known_as);
  }
  return changed;
}

Result<bool> Instances::step_once(TimePoint now, Touched& touched, const Stimulus& stimulus) {
  Instance& instance = touched.instance;
  const auto workflow = TRY(draft_.catalog.definition(draft_.tx, instance.revision));
  draft_.in_hand.stepping({instance.space, instance.id});
  StepResult result = millrace::step(*workflow, instance, stimulus, now, lookup_, draft_.limits);
  TRY(lookup_.take_status());
  if (!result.changed) return false;

  touched.changed = true;
  if (std::holds_alternative<Resume>(stimulus)) {
    // Nothing was heard of its functions while it was paused.
    for (const Call& call : instance.calls) {
      if (call.begun) draft_.tasks.heard(call.id);
    }
  }
  TRY(tell(touched, result.history));
  if (touched.history.empty()) {
    touched.history = std::move(result.history);
  } else {
    for (HistoryRecord& record : result.history) touched.history.push_back(std::move(record));
  }
  for (Effect& effect : result.effects) TRY(draft_.stage(instance, std::move(effect)));
  if (result.unfinished) draft_.after_commit(ContinueInput{instance.space, instance.id});
  if (has_ended(instance.status)) {
    draft_.after_commit(InstanceEnd{instance.id});
    draft_.living.ended(instance.revision.workflow);
    ++draft_.outcome.counts.ended[static_cast<size_t>(instance.status)];
  }
  TRY(note(instance));
  return true;
}

/// The step's records, and the one with which a new instance came.
Status Instances::tell(const Touched& touched, const std::vector<HistoryRecord>& records) {
  const uint64_t known = touched.instance.history_count;
  const bool is_first = touched.is_new && known == 0 && touched.history.size() == 1 &&
                        touched.history.front().kind == HistoryKind::kStarted;
  if (!is_first) {
    return draft_.tell(touched.instance, records, known + touched.history.size() + 1);
  }
  if (!draft_.catalog.settings(touched.instance.space).tells()) return {};
  std::vector<HistoryRecord> all = touched.history;
  all.insert(all.end(), records.begin(), records.end());
  return draft_.tell(touched.instance, all, 1);
}

/// Brings the caches in step with it.
Status Instances::note(const Instance& instance) {
  TRY(draft_.waiting.update(draft_.catalog.name_of(instance.space), instance));
  draft_.recent.update(instance,
                       TRY(draft_.catalog.awaited(draft_.tx, instance.revision, instance.state)));
  return {};
}

Result<Instances::Some> Instances::living(
    NamespaceNumber space, const std::optional<InstanceId>& behind, size_t most,
    const std::function<bool(const Instance& head)>& is_one) const {
  Some some;
  size_t looked_at = 0;
  const auto is_enough = [&] { return looked_at >= kLookedAtOnce || some.ids.size() >= most; };
  TRY(each_living(
      draft_.tx, space, behind,
      [&](const Instance& head) {
        ++looked_at;
        some.last = head.id;
        if (!touched_.contains(head.id) && is_one(head)) some.ids.push_back(head.id);
        return !is_enough();
      },
      draft_.damages.noting()));
  if (!is_enough()) some.last.reset();
  // What this batch has touched is not in the rows yet, or no longer what they say.
  auto next = behind ? touched_.upper_bound(*behind) : touched_.begin();
  const auto end = some.last ? touched_.upper_bound(*some.last) : touched_.end();
  for (; next != end; ++next) {
    const Instance& instance = next->second.instance;
    if (instance.space != space || has_ended(instance.status)) continue;
    if (is_one(instance)) some.ids.push_back(instance.id);
  }
  return some;
}

Status Instances::write() {
  for (auto& [id, touched] : touched_) {
    if (!touched.changed && !touched.is_new) continue;
    Instance& instance = touched.instance;
    const bool ends_history = ends_with(touched.history, instance.data);
    if (!touched.history.empty()) {
      std::vector<size_t> with_input;  // one that was read came without its input
      if (touched.is_new) with_input = those_with(touched.history, instance.input);
      const uint64_t number = TRY(draft_.next(Counter::kHistory));
      instance.history_count += touched.history.size();
      write_history(draft_.tx, number,
                    {.space = instance.space,
                     .instance = instance.id,
                     .previous = instance.last_history,
                     .records = std::move(touched.history),
                     .with_input = std::move(with_input),
                     .sealed = instance.sealed});
      instance.last_history = number;
    }
    write_instance(draft_.tx, instance,
                   {.input = touched.is_new,
                    .data = instance.data.shared_text() != touched.data,
                    .ends_history = ends_history,
                    .slots = touched.had_slots || !instance.slots.empty(),
                    .found_data = touched.had_found_data || instance.found_data,
                    .failed_data = text_of(instance.failed_data) != touched.failed_data,
                    .calls = &touched.calls});
  }
  touched_.clear();
  return {};
}

}  // namespace millrace
