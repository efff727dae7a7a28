#include "orchestrator/batch/commands/sweep.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/doubtful_head.h"
#include "states/state.h"

namespace millrace {
namespace {

/// About how many instances one batch steps for a command.
constexpr size_t kSteppedAtOnce = 250;

Status remove_damaged(const CommandContext& context, NamespaceNumber ns, const InstanceId& id) {
  return erase_history(context, TRY(context.instances.remove_damaged(ns, id)).last_history, id);
}

/// Steps one of a sweep; one with damaged rows is noted, and removed if `removes_damaged`.
Status sweep_one(const CommandContext& context, NamespaceNumber ns, const InstanceId& id,
                 const Stimulus& stimulus, bool removes_damaged) {
  const Result<Touched*> sound = context.instances.touch_sound(context.now, ns, id);
  if (!sound && is_damaged_row(sound.error())) {
    context.draft.damages.note(sound.error());
    return removes_damaged ? remove_damaged(context, ns, id) : Status();
  }
  Touched* const touched = TRY(sound);
  if (touched != nullptr) TRY(context.instances.step(context.now, *touched, stimulus));
  return {};
}

/// Removes those whose head does not decode but says enough to be one of them, up to `last` if it
/// is set, at most kSteppedAtOnce. Returns their ids.
Result<std::vector<InstanceId>> remove_doubtful(
    const CommandContext& context, NamespaceNumber ns, const std::optional<InstanceId>& behind,
    const std::optional<InstanceId>& last,
    const std::function<bool(const Instance& head)>& is_one) {
  std::vector<InstanceId> doubtful;
  TRY(each_doubtful_head(context.draft.tx, ns, behind,
                         [&](const InstanceId& id, const Instance& head) {
                           if (last && *last < id) return false;
                           if (is_one(head)) doubtful.push_back(id);
                           return doubtful.size() < kSteppedAtOnce;
                         }));
  for (const InstanceId& id : doubtful) TRY(remove_damaged(context, ns, id));
  return doubtful;
}

}  // namespace

size_t count_living(const CommandContext& context, NamespaceNumber ns,
                    std::optional<WorkflowNumber> workflow) {
  if (workflow) return context.draft.living.count(*workflow);
  size_t count = 0;
  for (const auto& [number, entry] : context.draft.catalog.workflows()) {
    if (entry.space == ns) count += context.draft.living.count(number);
  }
  return count;
}

Status refuse_living(size_t living, const Error& refusal) {
  if (living == 0) return {};
  return fail(refusal.code, fmt::format("{}: {}; cancel them with it: ?cancel=1, --cancel",
                                        refusal.message, living));
}

Result<bool> cancel_living(const CommandContext& context, NamespaceNumber ns,
                           std::optional<WorkflowNumber> workflow, Sweep& sweep) {
  // Those whose head was damaged at the start are not counted. A namespace has a purge for them.
  const bool may_be_damaged = workflow && context.draft.damages.count() > 0;
  if (count_living(context, ns, workflow) == 0 && !may_be_damaged) return true;
  const auto is_one = [&](const Instance& head) {
    return !workflow || head.revision.workflow == *workflow;
  };
  const Cancel cancel{{"direktiv.cancels.api", "cancelled with its workflow"}};
  const bool were_all = TRY(step_living(context, ns, cancel, is_one, sweep));
  return count_living(context, ns, workflow) == 0 && (were_all || !may_be_damaged);
}

Result<bool> step_living(const CommandContext& context, NamespaceNumber ns,
                         const Stimulus& stimulus,
                         const std::function<bool(const Instance& head)>& is_one, Sweep& sweep) {
  // An instance that is to be cancelled goes with what it belongs to, be it damaged or not.
  const bool removes_damaged = std::holds_alternative<Cancel>(stimulus);
  const auto page = TRY(context.instances.living(ns, sweep.last, kSteppedAtOnce, is_one));
  for (const InstanceId& id : page.ids) TRY(sweep_one(context, ns, id, stimulus, removes_damaged));
  std::optional<InstanceId> last = page.last;
  size_t removed = 0;
  if (removes_damaged && context.draft.damages.count() > 0) {
    const auto doubtful = TRY(remove_doubtful(context, ns, sweep.last, page.last, is_one));
    removed = doubtful.size();
    if (removed == kSteppedAtOnce) last = doubtful.back();
  }
  sweep.changed += page.ids.size() + removed;
  sweep.last = last;
  return !last;
}

Result<bool> resume_services(const CommandContext& context, NamespaceNumber ns,
                             const ServiceNames* services, Sweep& sweep) {
  Draft& draft = context.draft;
  const auto calls_one = [&](const Instance& head) {
    if (head.calls.empty() || head.cancelling) return false;
    const auto workflow = draft.catalog.definition(draft.tx, head.revision);
    if (!workflow || head.state >= (*workflow)->states.size()) return false;  // it is damaged
    const std::vector<std::string> named = (*workflow)->states[head.state]->services();
    return std::any_of(named.begin(), named.end(), [&](const std::string& name) {
      return services == nullptr || services->contains(name);
    });
  };
  const auto page = TRY(context.instances.living(ns, sweep.last, kSteppedAtOnce, calls_one));
  for (const InstanceId& id : page.ids) {
    Touched* const touched = TRY(context.instances.touch(context.now, ns, id));
    if (touched == nullptr) continue;  // it is damaged, and must not keep a service from going on
    TRY(context.instances.step(context.now, *touched, ServicesResumed{services}));
  }
  sweep.last = page.last;
  return !page.last;
}

}  // namespace millrace
