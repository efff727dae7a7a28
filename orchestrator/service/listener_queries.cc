// Queries about listeners: of starts and of instances that wait for events.
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

}  // namespace

/// Adds the listeners of the starts of the workflows behind `behind`. Returns false if others
/// follow: then the page ends, since many definitions were read for it.
Result<bool> Queries::add_starts(const View& view, std::string_view ns, std::string_view behind,
                                 Page& page) {
  const PageRequest request{.cursor = std::string(behind)};
  // TRY is not used: with it, g++ 12 warns about freeing the list of a failed result.
  const Result<SomeWorkflows> known = some_workflows(view, ns, request);
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
      Json json = to_json(event.filter);
      json["kind"] = "start";
      json["workflow"] = id;
      page.add(std::move(json));
    }
  }
  return true;
}

Result<Json> Queries::listeners(const View& view, std::string_view ns, size_t limit,
                                std::string_view cursor) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  Disclosures disclosures(view, ns, number);
  Page page(limit);
  const bool is_of_starts = cursor.empty() || cursor.starts_with(kOfStarts);
  if (is_of_starts) {
    const std::string_view behind = cursor.substr(cursor.empty() ? 0 : kOfStarts.size());
    if (!TRY(add_starts(view, ns, behind, page))) return std::move(page).json();
  }
  // An instance that has ended listens no longer.
  using enum InstanceStatus;
  InstanceSelection selection{.ns = number, .statuses = {kPending, kRunning, kWaiting, kPaused}};
  if (!is_of_starts) selection.ids.end_before(TRY(parse_instance_id(cursor)));
  Status status;
  const auto see = [&](const Instance& one) {
    if (one.listeners.empty()) return true;
    if (!page.has_room()) return false;
    Result<Json> described = head(view, one, disclosures);
    if (!described && is_damaged_row(described.error())) return true;
    if (!described) {
      status = tl::unexpected(described.error());
      return false;
    }
    for (const Listener& listener : one.listeners) {
      Json json = to_json(listener.filter, disclosures.of(one.sealed));
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
  const WalkEnd end = TRY(each_selected(view, selection, see, see_damaged, bounds_from_now()));
  TRY(std::move(status));
  if (end.cut) page.continue_at(to_string(*end.cut));
  return std::move(page).json();
}

}  // namespace millrace
