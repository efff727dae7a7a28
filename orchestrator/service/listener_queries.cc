// Queries about listeners: of starts and of instances that wait for events.
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {

Result<Json> Queries::listeners(const View& view, std::string_view ns, size_t limit,
                                std::string_view cursor) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  Page page(limit);
  if (cursor.empty()) {
    // TRY is not used: with it, g++ 12 warns about freeing the map of a failed result.
    const Result<Workflows> known = workflows_of(view, ns);
    if (!known) return tl::unexpected(known.error());
    for (const auto& [id, record] : *known) {
      const auto workflow = TRY(definitions_.find_or_load(view, {record.number, record.latest}));
      for (const StartEvent& event : workflow->start.events) {
        Json json = to_json(event.filter);
        json["kind"] = "start";
        json["workflow"] = id;
        page.add(std::move(json));
      }
    }
  }
  // An instance that has ended listens no longer.
  using enum InstanceStatus;
  InstanceSelection selection{.ns = number, .statuses = {kPending, kRunning, kWaiting, kPaused}};
  if (!cursor.empty()) selection.before = TRY(parse_instance_id(cursor));
  Status status;
  const auto see = [&](const Instance& one) {
    if (one.listeners.empty()) return true;
    if (!page.has_room()) return false;
    Result<Json> described = head(view, one);
    if (!described && is_damaged_row(described.error())) return true;
    if (!described) {
      status = tl::unexpected(described.error());
      return false;
    }
    for (const Listener& listener : one.listeners) {
      Json json = to_json(listener.filter, one.sealed);
      json["kind"] = "instance";
      json["workflow"] = (*described)["workflow"];
      json["instance"] = (*described)["id"];
      json["state"] = (*described)["state"];
      if (described->contains("deadline")) json["deadline"] = (*described)["deadline"];
      page.add(std::move(json), to_string(one.id));
    }
    return true;
  };
  const auto cut = TRY(
      each_selected(view, selection, see, [](const InstanceId&, const Error&) { return true; }));
  TRY(std::move(status));
  if (cut) page.continue_at(to_string(*cut));
  return std::move(page).json();
}

}  // namespace millrace
