#include "orchestrator/batch/commands/sweep.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/doubtful_head.h"
#include "states/compensation.h"
#include "states/state.h"

namespace millrace {
namespace {

/// About how many instances one batch steps for a command.
constexpr size_t kSteppedAtOnce = 64;

Status remove_damaged(const CommandContext& context, NamespaceNumber ns, const InstanceId& id) {
  return erase_history(context, ns, TRY(context.instances.remove_damaged(ns, id)).last_history, id);
}

/// What a sweep does with a live instance. Returns whether the instance counts as changed.
using SweepStep = std::function<Result<bool>(LoadedInstance& loaded)>;

/// Does `step` with one instance of a sweep. An instance with damaged rows is noted, and removed if
/// `removes_damaged`. Returns whether the instance counts as changed.
Result<bool> sweep_one(const CommandContext& context, NamespaceNumber ns, const InstanceId& id,
                       const SweepStep& step, bool removes_damaged) {
  const Result<LoadedInstance*> undamaged = context.instances.load_undamaged(context.now, ns, id);
  if (!undamaged && is_damaged_row(undamaged.error())) {
    context.batch.damages.note(undamaged.error());
    if (removes_damaged) TRY(remove_damaged(context, ns, id));
    return true;
  }
  LoadedInstance* const loaded = TRY(undamaged);
  return loaded == nullptr ? Result<bool>(true) : step(*loaded);
}

/// Whether the instance makes its compensations, or is one of the subflows that these call.
Result<bool> is_compensating(const CommandContext& context, const Instance& instance) {
  if (instance.compensating) return true;
  std::optional<Caller> caller = instance.caller;
  for (uint32_t left = instance.depth; caller && left > 0; --left) {
    const LoadedInstance* const loaded =
        TRY(context.instances.load(context.now, instance.ns, caller->instance));
    if (loaded == nullptr || !waits_for(loaded->instance, *caller)) return false;
    if (loaded->instance.compensating) return true;
    caller = loaded->instance.caller;
  }
  return false;
}

/// The next instances of a sweep, in the order of their ids.
Result<Instances::Page> next_page(const CommandContext& context, NamespaceNumber ns,
                                  const std::function<bool(const Instance& head)>& is_one,
                                  const Sweep& sweep) {
  auto page = TRY(context.instances.live(ns, sweep.last, kSteppedAtOnce, is_one));
  std::sort(page.ids.begin(), page.ids.end());
  return page;
}

/// Whether the unit of work ends behind the instance `id` of the page, and other instances follow
/// in the page. The sweep must then continue behind this instance.
bool ends_here(const CommandContext& context, const Instances::Page& page, const InstanceId& id) {
  return id != page.ids.back() && context.unit != nullptr && context.unit->is_spent();
}

/// Removes instances whose head is damaged but still decodes, if `is_one` holds for the decoded
/// head: instances with ids after `behind`, up to `last` if that is set, at most kSteppedAtOnce.
/// Returns the ids of the removed instances.
Result<std::vector<InstanceId>> remove_doubtful(
    const CommandContext& context, NamespaceNumber ns, const std::optional<InstanceId>& behind,
    const std::optional<InstanceId>& last,
    const std::function<bool(const Instance& head)>& is_one) {
  std::vector<InstanceId> doubtful;
  TRY(each_doubtful_head(context.batch.tx, ns, behind,
                         [&](const InstanceId& id, const Instance& head) {
                           if (last && *last < id) return false;
                           if (is_one(head)) doubtful.push_back(id);
                           return doubtful.size() < kSteppedAtOnce;
                         }));
  for (const InstanceId& id : doubtful) TRY(remove_damaged(context, ns, id));
  return doubtful;
}

/// Does `step` with the next live instances for which `is_one` holds, as many as one batch should.
/// Returns whether all are processed.
Result<bool> sweep_live(const CommandContext& context, NamespaceNumber ns,
                        const std::function<bool(const Instance& head)>& is_one,
                        const SweepStep& step, bool removes_damaged, Sweep& sweep) {
  const auto page = TRY(next_page(context, ns, is_one, sweep));
  std::optional<InstanceId> last = page.last;
  for (const InstanceId& id : page.ids) {
    if (TRY(sweep_one(context, ns, id, step, removes_damaged))) ++sweep.changed;
    if (!ends_here(context, page, id)) continue;
    last = id;
    break;
  }
  size_t removed = 0;
  if (removes_damaged && context.batch.damages.count() > 0) {
    const auto doubtful = TRY(remove_doubtful(context, ns, sweep.last, last, is_one));
    removed = doubtful.size();
    if (removed == kSteppedAtOnce) last = doubtful.back();
  }
  sweep.changed += removed;
  sweep.last = last;
  return !last;
}

}  // namespace

size_t count_live(const CommandContext& context, NamespaceNumber ns,
                  std::optional<WorkflowNumber> workflow) {
  const LiveCounts& live = context.batch.live;
  return workflow ? live.count(*workflow) : live.count(ns);
}

Status refuse_live(size_t live, const Error& refusal) {
  if (live == 0) return {};
  return fail(refusal.code, fmt::format("{}: {}; to cancel them too, use ?cancel=1 (--cancel)",
                                        refusal.message, live));
}

Result<bool> cancel_live(const CommandContext& context, NamespaceNumber ns,
                         std::optional<WorkflowNumber> workflow, bool drops_compensations,
                         Sweep& sweep) {
  // count_live() does not count instances whose head was damaged at startup. The purge of a deleted
  // namespace erases such instances.
  const bool may_be_damaged = workflow && context.batch.damages.count() > 0;
  if (count_live(context, ns, workflow) == 0 && !may_be_damaged) return true;
  const auto is_one = [&](const Instance& head) {
    return !workflow || head.revision.workflow == *workflow;
  };
  const Cancel cancel{.error = {"direktiv.cancels.api", "cancelled with its workflow"},
                      .compensates = !drops_compensations,
                      .deletes = true};
  if (!sweep.last) sweep.compensating = 0;  // another pass begins
  const auto cancel_one = [&](LoadedInstance& loaded) -> Result<bool> {
    if (!drops_compensations && TRY(is_compensating(context, loaded.instance))) {
      ++sweep.compensating;
      return false;
    }
    TRY(context.instances.step(context.now, loaded, cancel));
    if (loaded.instance.compensating) ++sweep.compensating;
    if (drops_compensations) sweep.dropped += loaded.instance.compensations;
    return true;
  };
  const bool were_all = TRY(sweep_live(context, ns, is_one, cancel_one, true, sweep));
  return count_live(context, ns, workflow) == 0 && (were_all || !may_be_damaged);
}

Status refuse_compensating(const CommandContext& context, NamespaceNumber ns,
                           std::optional<WorkflowNumber> workflow, const Sweep& sweep,
                           const Error& refusal) {
  if (sweep.last || sweep.compensating == 0) return {};
  auto& reviewed = context.batch.reviewed;
  if (workflow) {
    reviewed.push_back(*workflow);
  } else {
    for (const WorkflowNumber one : context.batch.catalog.workflows_of(ns)) reviewed.push_back(one);
  }
  return fail(refusal.code,
              fmt::format("{}: instances that make their compensations, or are called by one: {}; "
                          "wait for their end and repeat the command, or drop the compensations "
                          "with ?cancel=1&dropCompensations=1 (--cancel --drop-compensations)",
                          refusal.message, sweep.compensating));
}

Json deletion_answer(const Sweep& sweep, bool drops_compensations) {
  Json answer{{"cancelled", sweep.changed}};
  if (drops_compensations) answer["droppedCompensations"] = sweep.dropped;
  return answer;
}

Result<bool> step_live(const CommandContext& context, NamespaceNumber ns, const Stimulus& stimulus,
                       const std::function<bool(const Instance& head)>& is_one, Sweep& sweep) {
  const auto step_one = [&](LoadedInstance& loaded) -> Result<bool> {
    TRY(context.instances.step(context.now, loaded, stimulus));
    return true;
  };
  return sweep_live(context, ns, is_one, step_one, false, sweep);
}

Result<bool> resume_services(const CommandContext& context, NamespaceNumber ns,
                             const ServiceNames* services, Sweep& sweep) {
  BatchState& batch = context.batch;
  const auto calls_one = [&](const Instance& head) {
    if (head.calls.empty() || head.cancelling) return false;
    const auto workflow = batch.catalog.definition(batch.tx, head.revision);
    const State* const state = workflow ? state_of(**workflow, head) : nullptr;
    if (state == nullptr) return false;  // damaged
    const std::vector<std::string> named = state->services();
    return std::any_of(named.begin(), named.end(), [&](const std::string& name) {
      return services == nullptr || services->contains(name);
    });
  };
  const auto page = TRY(next_page(context, ns, calls_one, sweep));
  for (const InstanceId& id : page.ids) {
    LoadedInstance* const loaded = TRY(context.instances.load(context.now, ns, id));
    if (loaded == nullptr) continue;  // a damaged instance must not keep the service paused
    TRY(context.instances.step(context.now, *loaded, ServicesResumed{services}));
    if (!ends_here(context, page, id)) continue;
    sweep.last = id;
    return false;
  }
  sweep.last = page.last;
  return !page.last;
}

}  // namespace millrace
