#include "orchestrator/batch/start_queues.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/slots.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

/// How many keys of throttles one firing of their timer moves to the lanes.
constexpr size_t kDueAtOnce = 256;

/// Whether the instance waits in the place.
bool waits_in(const Instance& instance, const SlotKey& key, const SlotPlace& place) {
  const WorkflowNumber workflow = instance.revision.workflow;
  if (key.is_throttle) {
    return is_throttled(instance) && instance.throttled->number == place.number &&
           throttle_key_of(workflow, instance.throttled->key) == key;
  }
  return is_queued(instance) && instance.slot->number == place.number &&
         slot_key_of(workflow, instance.slot->key) == key;
}

}  // namespace

Status StartQueues::load() {
  lanes_.clear();
  due_.clear();
  arm();
  for (const WorkflowNumber workflow : TRY(workflows_with_slots(batch_.tx))) {
    if (const auto lane = lane_of_workflow(workflow)) lanes_.of(*lane).review();
  }
  return {};
}

std::optional<WorkLane> StartQueues::lane_of_workflow(WorkflowNumber workflow) const {
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(workflow);
  if (entry == nullptr) return std::nullopt;
  return WorkLane{entry->ns, workflow};
}

Status StartQueues::run(TimePoint now) {
  std::set<WorkLane> fresh;
  const auto add = [&](const SlotKey& key) {
    if (const auto owner = lane_of_workflow(key.workflow)) lanes_.of(*owner, fresh).add(key);
  };
  for (const SlotKey& key : std::exchange(batch_.woken, {})) add(key);
  if (std::exchange(batch_.has_due_throttle, false)) {
    for (const SlotKey& key : take_due(now)) add(key);
  }
  for (const WorkflowNumber workflow : std::exchange(batch_.reviewed, {})) {
    if (const auto owner = lane_of_workflow(workflow)) lanes_.of(*owner, fresh).review();
  }
  for (const WorkLane& lane : fresh) {
    while (may_go_on(lane) && !batch_.meter.is_spent()) TRY(go_on(now, lane));
  }
  return {};
}

Status StartQueues::go_on(TimePoint now, const WorkLane& lane) {
  return lanes_.go_on(
      lane, [&](Lanes::Lane& reviewed) { return review(lane.workflow, reviewed); },
      [&](const SlotKey& key) { return admit_next(now, key); });
}

/// Adds the next keys of the workflow that have a start that waits.
Status StartQueues::review(WorkflowNumber workflow, Lanes::Lane& lane) {
  lane.begin_portion();
  return each_slot_counts(
      batch_.tx, workflow, lane.reviewed_until(),
      [&](const SlotKey& key, const SlotCounts& counts) {
        return lane.note(key, counts.queued > 0);
      },
      batch_.damages.noting());
}

Result<std::shared_ptr<const Workflow>> StartQueues::admitting(const WorkflowEntry& entry) {
  // The command that resumes the workflow reviews its keys.
  if (entry.paused) return std::shared_ptr<const Workflow>();
  auto workflow = batch_.catalog.definition(batch_.tx, {entry.number, entry.latest});
  if (workflow || !is_damaged_row(workflow.error())) return workflow;
  batch_.damages.note(workflow.error());
  return std::shared_ptr<const Workflow>();
}

/// Admits the start that is next, if the key has room. Returns whether another one may follow.
Result<bool> StartQueues::admit_next(TimePoint now, const SlotKey& key) {
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(key.workflow);
  if (entry == nullptr) return false;
  const auto workflow = TRY(admitting(*entry));
  if (workflow == nullptr) return false;
  const SlotCounts counts = TRY(counts_of(batch_, key));
  if (counts.queued == 0 || !TRY(has_room(now, *workflow, key, counts))) return false;
  const auto first =
      TRY(read_first_place(batch_.tx, waiting_kind(key), key, batch_.damages.noting()));
  if (!first) {
    TRY(recount(batch_, key));
    return false;
  }
  return admit(now, *entry, *workflow, key, counts, *first);
}

/// Whether the key has a free slot, or its throttle permits a start. If it does not permit one now,
/// the timer is armed.
Result<bool> StartQueues::has_room(TimePoint now, const Workflow& workflow, const SlotKey& key,
                                   const SlotCounts& counts) {
  if (!key.is_throttle) return counts.held < slots_of(workflow);
  if (!workflow.throttle) return true;  // a new revision has none
  StartRates& rates = instances_.rates();
  const auto until = TRY(rates.throttled_until(now, rates.place_of(key), workflow.throttle->rate));
  if (until) put_due(key, *until);
  return !until.has_value();
}

Result<bool> StartQueues::admit(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                                const SlotKey& key, SlotCounts counts, const SlotPlace& first) {
  --left_;
  const Slot waited{.priority = first.priority, .number = first.number, .is_queued = true};
  erase_slot_place(batch_.tx, key, waited);
  --counts.queued;
  batch_.live.unqueued(entry.ns);
  batch_.crash_note.take_instance({entry.ns, first.instance});
  LoadedInstance* const loaded = TRY(instances_.load(now, entry.ns, first.instance));
  if (loaded == nullptr || !waits_in(loaded->instance, key, first)) {
    batch_.damages.note(damaged_row(Table::kQueues, place_key(key, waited),
                                    fmt::format("instance {}, which it names, does not wait there",
                                                to_string(first.instance))));
    write_slot_counts(batch_.tx, key, counts);
    return counts.queued > 0;
  }
  ++batch_.outcome.counts.starts_admitted;
  // The instance has waited for no event before.
  loaded->instance.listen_from = batch_.listen_from_now();
  if (!key.is_throttle) ++counts.held;
  write_slot_counts(batch_.tx, key, counts);
  if (key.is_throttle) {
    TRY(release(now, entry, workflow, key, *loaded));
  } else {
    TRY(give_slot(now, entry, workflow, key, *loaded));
  }
  if (!waits_to_start(loaded->instance)) TRY(begin(now, *loaded));
  return counts.queued > 0;
}

/// Makes the first step of the instance, in a later batch if the unit of work has no time for it.
/// Until then, the events that come must be kept for it, and it must search through them.
Status StartQueues::begin(TimePoint now, LoadedInstance& loaded) {
  if (!batch_.meter.is_spent()) {
    TRY(instances_.step(now, loaded, Proceed{}));
    return {};
  }
  const Instance& instance = loaded.instance;
  batch_.after_commit(ContinueInput{instance.ns, instance.id, instance.revision.workflow});
  return {};
}

/// Gives the instance its slot. The throttle then decides whether it begins.
Status StartQueues::give_slot(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                              const SlotKey& key, LoadedInstance& loaded) {
  const Instance& instance = loaded.instance;
  Slot held = *instance.slot;
  held.is_queued = false;
  held.number = TRY(batch_.next(Counter::kSlots));
  write_slot_place(batch_.tx, key, held, {.instance = instance.id, .since = now});
  Admitted admitted{.number = held.number};
  if (instance.throttled) {
    admitted.throttled = TRY(instances_.ask_throttle(now, entry, workflow, instance));
  }
  TRY(instances_.step(now, loaded, admitted));
  return {};
}

Status StartQueues::release(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                            const SlotKey& key, LoadedInstance& loaded) {
  if (workflow.throttle) {
    StartRates& rates = instances_.rates();
    TRY(rates.count_throttled(now, entry.ns, rates.place_of(key), workflow.throttle->rate));
  }
  TRY(instances_.step(now, loaded, Released{}));
  return {};
}

/// Notes when the throttle permits the next start of the key.
void StartQueues::put_due(const SlotKey& key, TimePoint at) {
  due_.put(key, at);
  arm();
}

/// Removes the keys whose time has come, some of them, and arms the timer for the others.
std::vector<SlotKey> StartQueues::take_due(TimePoint now) {
  std::vector<SlotKey> keys = due_.take(now, kDueAtOnce);
  arm();
  return keys;
}

void StartQueues::arm() {
  if (const auto at = due_.first()) {
    batch_.waiting.arm_throttle(*at);
  } else {
    batch_.waiting.disarm_throttle();
  }
}

}  // namespace millrace
