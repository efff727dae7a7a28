#include "orchestrator/batch/event_router.h"

#include <utility>

namespace millrace {

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
  route.matched = !route.targets.empty();
  route.is_wanted = views.kept_events.wants(*ns, attributes.type());
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
