// Queries about listeners: of starts and of instances that wait for events.
#include <algorithm>

#include "matchers/pattern.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {

namespace {

/// The beginning of the cursor of a page that has starts only; the id of the last workflow follows.
/// The other cursors are ids of instances.
constexpr std::string_view kOfStarts = "starts/";

/// Whether the condition holds for a value of its attribute.
bool predicate_holds(const Predicate& predicate, const std::string& value) {
  if (predicate.kind == Predicate::Kind::kEquals) return predicate.text == value;
  const auto pattern = Pattern::compile(predicate.text);
  return pattern && (*pattern)->matches(value);
}

/// Whether the list shows a listener with that event filter.
bool shows_listener(const ListenerFilter& filter, const EventFilter& event,
                    const Disclosure& disclosure) {
  if (!filter.type.empty() && event.type != filter.type) return false;
  if (filter.attribute.empty() && !filter.value) return true;
  return std::any_of(
      event.predicates.begin(), event.predicates.end(), [&](const Predicate& predicate) {
        if (filter.attribute.empty()) {
          return predicate.kind == Predicate::Kind::kEquals && predicate.text == *filter.value &&
                 disclosure.shows(predicate.text);
        }
        if (predicate.attribute != filter.attribute) return false;
        if (!filter.value) return true;
        return disclosure.shows(predicate.text) && predicate_holds(predicate, *filter.value);
      });
}

}  // namespace

Result<Queries::SomeWorkflows> Queries::asked_workflows(const View& view, std::string_view ns,
                                                        const ListenerFilter& filter,
                                                        const PageRequest& request) {
  if (filter.workflow.empty()) return some_workflows(view, ns, request);
  SomeWorkflows only;
  only.emplace_back(filter.workflow, TRY(find_workflow(view, ns, filter.workflow)));
  return only;
}

/// Adds the listeners of the starts of the workflows behind `behind`. Returns false if others
/// follow: then the page ends, since many definitions were read for it.
Result<bool> Queries::add_starts(const View& view, std::string_view ns,
                                 const ListenerFilter& filter, std::string_view behind,
                                 Page& page) {
  const PageRequest request{.cursor = std::string(behind)};
  // TRY is not used: with it, g++ 12 warns about freeing the list of a failed result.
  const Result<SomeWorkflows> known = asked_workflows(view, ns, filter, request);
  if (!known) return tl::unexpected(known.error());
  size_t bytes = 0;
  for (size_t i = 0; i < known->size(); ++i) {
    const auto& [id, record] = (*known)[i];
    if (i == request.limit || bytes >= Page::kMostBytes) {
      page.continue_at(std::string(kOfStarts) + (*known)[i - 1].first);
      return false;
    }
    const Revision revision{record.number, record.latest};
    bytes += TRY(definition_bytes(view, revision));
    const auto workflow = TRY(definitions_.find_or_load(view, revision));
    for (const StartEvent& event : workflow->start.events) {
      if (!shows_listener(filter, event.filter, false)) continue;
      Json json = to_json(event.filter);
      json["kind"] = "start";
      json["workflow"] = id;
      page.add(std::move(json));
    }
  }
  return true;
}

Result<Json> Queries::listeners(const View& view, std::string_view ns, const ListenerFilter& filter,
                                const std::vector<InstanceId>* asking) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  const std::string_view cursor = filter.cursor;
  Disclosures disclosures = TRY(Disclosures::read(view, ns, number));
  Page page(filter.limit);
  WalkEnd end;
  const auto answered = [&] {
    if (end.cut) page.continue_at(to_string(*end.cut));
    Json answer = std::move(page).json();
    answer["complete"] = !end.cut;
    answer["looked"] = end.looked;
    return answer;
  };
  const bool is_of_starts = cursor.empty() || cursor.starts_with(kOfStarts);
  if (is_of_starts && filter.kind != ListenerFilter::Kind::kInstance) {
    const std::string_view behind = cursor.substr(cursor.empty() ? 0 : kOfStarts.size());
    if (!TRY(add_starts(view, ns, filter, behind, page))) return answered();
  }
  if (filter.kind == ListenerFilter::Kind::kStart) return answered();
  // An instance that has ended listens no longer.
  using enum InstanceStatus;
  InstanceSelection selection{.ns = number, .statuses = {kPending, kRunning, kWaiting, kPaused}};
  if (!filter.workflow.empty()) {
    selection.workflow = TRY(find_workflow(view, ns, filter.workflow)).number;
  }
  if (!is_of_starts) {
    Result<InstanceId> last = parse_instance_id(cursor);
    if (!last) return fail_in("cursor", std::move(last).error());
    selection.ids.end_before(*last);
  }
  Status status;
  const auto see = [&](const Instance& one) {
    const Disclosure disclosure = disclosures.of(one.sealed);
    const auto is_listed = [&](const Listener& listener) {
      return shows_listener(filter, listener.filter, disclosure);
    };
    if (std::none_of(one.listeners.begin(), one.listeners.end(), is_listed)) return true;
    if (!page.has_room()) return false;
    Result<Json> described = head(view, one, disclosures);
    if (!described && is_damaged_row(described.error())) return true;
    if (!described) {
      status = tl::unexpected(described.error());
      return false;
    }
    for (const Listener& listener : one.listeners) {
      if (!is_listed(listener)) continue;
      Json json = to_json(listener.filter, disclosure);
      json["kind"] = "instance";
      json["workflow"] = (*described)["workflow"];
      json["instance"] = (*described)["id"];
      json["state"] = (*described)["state"];
      if (described->contains("deadline")) json["deadline"] = (*described)["deadline"];
      page.add(std::move(json), to_string(one.id));
    }
    return true;
  };
  const auto see_damaged = [](const InstanceId&, const Error&) { return true; };
  end = TRY(asking == nullptr
                ? each_selected(view, selection, see, see_damaged, bounds_from_now())
                : each_of(view, selection, *asking, see, see_damaged, bounds_from_now()));
  TRY(std::move(status));
  return answered();
}

}  // namespace millrace
