#include "orchestrator/batch/event_router.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/event_target.h"

namespace millrace {
namespace {

/// Leaves only what the target of the event permits. If the target is a workflow, the instances
/// stay: their rows show their workflows when they are read (may_take).
void narrow(std::string_view target, Targets& targets) {
  std::erase_if(targets.starts,
                [&](const StartTarget& one) { return !is_target(target, one.workflow); });
  std::erase_if(targets.undecided_starts,
                [&](WorkflowNumber workflow) { return !is_target(target, workflow); });
  std::erase_if(targets.instances,
                [&](const InstanceTarget& one) { return !may_be_target(target, one.instance); });
  std::erase_if(targets.undecided_instances,
                [&](const InstanceId& instance) { return !may_be_target(target, instance); });
}

/// Whether an earlier event is undecided for one of the instances: then it gets this one later,
/// too.
bool waits_behind(const RouteViews& views, const EventRoute& route) {
  if (!views.kept_events.holds_any()) return false;
  const std::vector<InstanceTarget>& instances = route.targets.instances;
  return std::any_of(instances.begin(), instances.end(), [&](const InstanceTarget& one) {
    return views.kept_events.undecided().has(one.instance);
  });
}

}  // namespace

EventRoute route_event(const RouteViews& views, const EventInput& input, size_t most_woken,
                       const MatchBudget& budget) {
  EventRoute route;
  const auto ns = views.catalog.find_namespace(input.ns);
  if (!ns) {
    route.kind = EventRoute::Kind::kNoNamespace;
    return route;
  }
  route.ns = *ns;
  const Attributes& attributes = input.event.attributes();
  route.targets = views.waiting.match(input.ns, attributes, budget);
  if (const auto target = attributes.find(kTargetAttribute)) narrow(*target, route.targets);
  route.matched = !route.targets.empty();
  route.is_wanted = views.kept_events.wants(*ns, attributes.type()) || waits_behind(views, route);
  if (!route.matched && !route.is_wanted) return route;
  route.per_second = views.catalog.settings(*ns).quotas.of(Quota::kEventsPerSecond);
  route.event = input.event.event();
  route.known_as = fingerprint_of(input.ns, route.event);
  const bool is_known = views.dedupe.seen(route.known_as) || views.kept_events.seen(route.known_as);
  route.kind = is_known ? EventRoute::Kind::kDuplicate : EventRoute::Kind::kTargets;
  route.fans_out = route.targets.instances.size() > most_woken;
  route.may_be_late = views.kept_events.holds_any() || !route.targets.undecided_starts.empty() ||
                      !route.targets.undecided_instances.empty();
  return route;
}

}  // namespace millrace
