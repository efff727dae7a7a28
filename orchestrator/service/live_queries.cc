// What live messages show of the store: the place that a client watches, heads of instances, and
// the numbers of instances by workflow and status.
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_rows.h"

namespace millrace {

Result<WatchedPlace> Queries::watched_place(const View& view, std::string_view ns,
                                            std::string_view workflow) {
  const NamespaceRecord record = TRY(find_namespace_record(view, ns));
  WatchedPlace place{.ns = record.number, .created_at = record.created_at};
  if (!workflow.empty()) place.workflow = TRY(find_workflow(view, ns, workflow)).number;
  return place;
}

Result<Json> Queries::heads(const View& view, std::string_view ns, NamespaceNumber number,
                            const std::vector<InstanceId>& ids) {
  Disclosures disclosures = TRY(Disclosures::read(view, ns, number));
  Json items = Json::array();
  for (const InstanceId& id : ids) {
    const auto found = read_head_anywhere(view, number, id);
    if (!found && !is_damaged_row(found.error())) return tl::unexpected(found.error());
    if (!found || !*found) continue;
    Result<Json> item = list_item(view, **found, disclosures);
    if (!item && !is_damaged_row(item.error())) return item;
    if (item) items.push_back(std::move(*item));
  }
  return items;
}

Result<NamespaceCounts> Queries::status_counts(const View& view, NamespaceNumber ns, size_t most) {
  NamespaceCounts found;
  std::map<std::pair<WorkflowNumber, InstanceStatus>, uint64_t> numbered;
  TRY(each_count(view, ns, std::nullopt, [&](const CountPlace& place, uint64_t count) {
    const WorkflowNumber workflow = place.revision.workflow;
    if (found.rows == most) {  // not all rows of this workflow were read
      std::erase_if(numbered, [&](const auto& one) { return one.first.first == workflow; });
      found.is_complete = false;
      return false;
    }
    ++found.rows;
    numbered[{workflow, place.status}] += count;
    return true;
  }));
  std::map<WorkflowNumber, std::string> names;
  TRY(each_workflow_behind(view, ns, {}, [&](std::string_view id, const WorkflowRecord& record) {
    if (names.size() == most) {
      found.is_complete = false;
      return false;
    }
    ++found.rows;
    names.emplace(record.number, id);
    return true;
  }));
  for (const auto& [place, count] : numbered) {
    const auto name = names.find(place.first);
    if (name == names.end()) continue;  // of a deleted workflow
    found.counts[{name->second, std::string(to_string(place.second))}] += count;
  }
  return found;
}

}  // namespace millrace
