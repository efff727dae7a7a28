// Queries for the numbers of instances. They read the counts of the index, and no instance.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/index_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The most rows of counts, and of workflows for their names, that one query reads.
constexpr size_t kMostCountRows = 100'000;
/// The most items of an answer.
constexpr size_t kMostCountItems = 10'000;
/// The most bytes of definitions that one query loads for the names of states.
constexpr size_t kMostDefinitionBytes = size_t{4} << 20;

/// The most rows of counts, and bytes of definitions, that are read to find out which statuses the
/// instances in a state have.
constexpr size_t kMostStatePlaces = 1'000;
constexpr size_t kMostStateBytes = size_t{1} << 20;

tl::unexpected<Error> too_many_counts(std::string_view what) {
  return fail("request.parameter",
              fmt::format("by: the answer needs {}; ask for one workflow with `workflow`, or for "
                          "fewer members",
                          what));
}

bool has_field(const CountRequest& request, CountField field) {
  return std::find(request.by.begin(), request.by.end(), field) != request.by.end();
}

/// The members of an item, as far as they are asked for; otherwise empty.
struct CountGroup {
  WorkflowNumber workflow{};
  uint32_t revision = 0;
  std::optional<std::string> state;  ///< nullopt: its definition is damaged
  std::optional<InstanceStatus> status;

  auto operator<=>(const CountGroup&) const = default;
};

}  // namespace

Result<Json> Queries::instance_counts(const View& view, std::string_view ns,
                                      const CountRequest& request) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  std::optional<WorkflowNumber> only;
  if (!request.workflow.empty()) only = TRY(find_workflow(view, ns, request.workflow)).number;
  TRY(check_counts(view));

  // The sums by number and index; the names are looked up once for each of them.
  std::map<CountPlace, uint64_t> places;
  size_t rows = 0;
  const auto is_asked = [&](InstanceStatus status) {
    const auto& wanted = request.statuses;
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), status) != wanted.end();
  };
  TRY(each_count(view, number, only, [&](CountPlace place, uint64_t count) {
    if (!is_asked(place.status)) return true;
    const bool needs_state = has_field(request, CountField::kState) || !request.state.empty();
    if (!needs_state) place.state = 0;
    if (!needs_state && !has_field(request, CountField::kRevision)) place.revision.number = 0;
    if (!has_field(request, CountField::kStatus)) place.status = {};
    places[place] += count;
    return ++rows < kMostCountRows;
  }));
  if (rows == kMostCountRows) {
    return too_many_counts(fmt::format("{} rows of the index or more", kMostCountRows));
  }

  std::map<CountGroup, uint64_t> groups;
  if (request.by.empty()) groups[{}] = 0;
  size_t bytes = 0;
  std::optional<Revision> loaded;
  std::shared_ptr<const Workflow> definition;
  for (const auto& [place, count] : places) {
    CountGroup group;
    if (has_field(request, CountField::kWorkflow)) group.workflow = place.revision.workflow;
    if (has_field(request, CountField::kRevision)) group.revision = place.revision.number;
    if (has_field(request, CountField::kStatus)) group.status = place.status;
    if (has_field(request, CountField::kState) || !request.state.empty()) {
      if (loaded != place.revision) {
        bytes += TRY(definition_bytes(view, place.revision));
        if (bytes > kMostDefinitionBytes) return too_many_counts("too many definitions");
        auto found = definitions_.find_or_load(view, place.revision);
        if (!found && !is_damaged_row(found.error())) return tl::unexpected(found.error());
        definition = found ? *found : nullptr;
        loaded = place.revision;
      }
      if (definition && place.state < definition->states.size()) {
        group.state = definition->states[place.state]->common().id;
      }
      if (!request.state.empty() && group.state != request.state) continue;
      if (!has_field(request, CountField::kState)) group.state = std::nullopt;
    }
    groups[std::move(group)] += count;
  }
  if (groups.size() > kMostCountItems) {
    return too_many_counts(fmt::format("{} items; it may have {}", groups.size(), kMostCountItems));
  }

  std::map<WorkflowNumber, std::string> names;
  if (has_field(request, CountField::kWorkflow)) {
    if (only) {
      names.emplace(*only, request.workflow);
    } else {
      for (const auto& [group, count] : groups) names.try_emplace(group.workflow);
      size_t missing = names.size();
      size_t looked = 0;
      TRY(each_workflow_behind(view, number, {},
                               [&](std::string_view id, const WorkflowRecord& record) {
                                 const auto found = names.find(record.number);
                                 if (found != names.end()) {
                                   found->second = id;
                                   --missing;
                                 }
                                 return missing > 0 && ++looked < kMostCountRows;
                               }));
      if (looked == kMostCountRows) {
        return too_many_counts(fmt::format("the names of {} workflows or more", kMostCountRows));
      }
    }
  }
  std::vector<std::pair<std::string, Json>> items;  // by the id of the workflow
  for (const auto& [group, count] : groups) {
    Json item = Json::object();
    std::string name;
    if (has_field(request, CountField::kWorkflow)) {
      const auto found = names.find(group.workflow);
      if (found != names.end()) name = found->second;
      item["workflow"] = name;
    }
    if (has_field(request, CountField::kRevision)) item["revision"] = group.revision;
    if (has_field(request, CountField::kState)) {
      item["state"] = group.state ? Json(*group.state) : Json();
    }
    if (group.status) item["status"] = to_string(*group.status);
    item["count"] = count;
    items.emplace_back(std::move(name), std::move(item));
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  Json list = Json::array();
  for (auto& [name, item] : items) list.push_back(std::move(item));
  return Json{
      {"items", std::move(list)}, {"next", nullptr}, {"asOf", format_rfc3339(clock_.now())}};
}

Result<std::optional<std::vector<InstanceStatus>>> Queries::statuses_in_state(
    const View& view, NamespaceNumber ns, const std::optional<WorkflowNumber>& workflow,
    std::string_view state) {
  using Statuses = std::vector<InstanceStatus>;
  const bool is_incomplete = is_index_incomplete(view);
  TRY(view.status());
  if (is_incomplete) return std::optional<Statuses>();
  std::vector<CountPlace> places;
  const Status counted = each_count(view, ns, workflow, [&](const CountPlace& place, uint64_t) {
    places.push_back(place);
    return places.size() <= kMostStatePlaces;
  });
  if (!counted && !is_damaged_row(counted.error())) return tl::unexpected(counted.error());
  if (!counted || places.size() > kMostStatePlaces) return std::optional<Statuses>();
  Statuses statuses;
  size_t bytes = 0;
  std::optional<Revision> loaded;
  std::shared_ptr<const Workflow> definition;
  for (const CountPlace& place : places) {
    if (loaded != place.revision) {
      bytes += TRY(definition_bytes(view, place.revision));
      if (bytes > kMostStateBytes) return std::optional<Statuses>();
      auto found = definitions_.find_or_load(view, place.revision);
      if (!found && !is_damaged_row(found.error())) return tl::unexpected(found.error());
      definition = found ? *found : nullptr;
      loaded = place.revision;
    }
    const bool is_in_state = definition && place.state < definition->states.size() &&
                             definition->states[place.state]->common().id == state;
    if (!is_in_state) continue;
    if (std::find(statuses.begin(), statuses.end(), place.status) == statuses.end()) {
      statuses.push_back(place.status);
    }
  }
  return std::optional(std::move(statuses));
}

Result<Json> Queries::counts_by_status(const View& view, NamespaceNumber ns,
                                       WorkflowNumber workflow, size_t& rows) {
  Json counts = Json::object();
  if (rows == 0) return nullptr;
  TRY(each_count(view, ns, workflow, [&](const CountPlace& place, uint64_t count) {
    if (rows == 0) return false;
    --rows;
    const std::string status(to_string(place.status));
    counts[status] = counts.value(status, uint64_t{0}) + count;
    return true;
  }));
  if (rows == 0) return nullptr;
  return counts;
}

Status Queries::check_counts(const View& view) {
  const bool is_incomplete = is_index_incomplete(view);
  TRY(view.status());
  if (!is_incomplete) return {};
  return fail("index.incomplete",
              "the index of the instances is not complete, so their numbers are not known; a start "
              "of millrace completes it");
}

}  // namespace millrace
