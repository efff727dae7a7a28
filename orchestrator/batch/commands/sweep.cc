#include "orchestrator/batch/commands/sweep.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
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

/// Steps one instance of a sweep. An instance with damaged rows is noted, and removed if
/// `removes_damaged`.
Status sweep_one(const CommandContext& context, NamespaceNumber ns, const InstanceId& id,
                 const Stimulus& stimulus, bool removes_damaged) {
  const Result<LoadedInstance*> undamaged = context.instances.load_undamaged(context.now, ns, id);
  if (!undamaged && is_damaged_row(undamaged.error())) {
    context.batch.damages.note(undamaged.error());
    return removes_damaged ? remove_damaged(context, ns, id) : Status();
  }
  LoadedInstance* const loaded = TRY(undamaged);
  if (loaded != nullptr) TRY(context.instances.step(context.now, *loaded, stimulus));
  return {};
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
                         std::optional<WorkflowNumber> workflow, Sweep& sweep) {
  // count_live() does not count instances whose head was damaged at startup. The purge of a deleted
  // namespace erases such instances.
  const bool may_be_damaged = workflow && context.batch.damages.count() > 0;
  if (count_live(context, ns, workflow) == 0 && !may_be_damaged) return true;
  const auto is_one = [&](const Instance& head) {
    return !workflow || head.revision.workflow == *workflow;
  };
  // Its definition will be gone before the calls of its compensations could end.
  const Cancel cancel{.error = {"direktiv.cancels.api", "cancelled with its workflow"},
                      .compensates = false};
  const bool were_all = TRY(step_live(context, ns, cancel, is_one, sweep));
  return count_live(context, ns, workflow) == 0 && (were_all || !may_be_damaged);
}

Result<bool> step_live(const CommandContext& context, NamespaceNumber ns, const Stimulus& stimulus,
                       const std::function<bool(const Instance& head)>& is_one, Sweep& sweep) {
  // An instance that is cancelled with its workflow or namespace is removed even if it is damaged.
  const bool removes_damaged = std::holds_alternative<Cancel>(stimulus);
  const auto page = TRY(next_page(context, ns, is_one, sweep));
  std::optional<InstanceId> last = page.last;
  for (const InstanceId& id : page.ids) {
    TRY(sweep_one(context, ns, id, stimulus, removes_damaged));
    ++sweep.changed;
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
