// Queries about the groups of eventsAnd starts.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/attributes.h"
#include "orchestrator/batch/group_id.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/group_rows.h"

namespace millrace {
namespace {

/// A position in the list of groups: the id of a workflow, and the group of that workflow that was
/// shown last.
struct GroupCursor {
  std::string workflow;
  std::optional<Fingerprint> behind;
};

/// No group comes after this one.
constexpr Fingerprint kBehindAllGroups = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

std::string to_text(std::string_view workflow, const Fingerprint& group) {
  return fmt::format("{}/{}", workflow, to_string(InstanceId{group}));
}

Result<GroupCursor> parse_cursor(std::string_view text) {
  if (text.empty()) return GroupCursor{};
  const size_t slash = text.rfind('/');  // without a slash, npos + 1 is 0
  const auto group = parse_instance_id(text.substr(slash + 1));
  if (slash == std::string_view::npos || !group) {
    return malformed_cursor();
  }
  return GroupCursor{std::string(text.substr(0, slash)), group->bytes};
}

/// The sequence and the id of an event that waits, as far as they are known.
Json event_of_entry(const DecodedGrouped& first) {
  Json json{{"id", first.event.id}};
  const uint64_t sequence = first.row.record.position.sequence;
  if (sequence > 0) json["sequence"] = sequence;
  return json;
}

/// Describes a group: the attributes that its events share, how many events wait for each entry
/// and which is the first, and when the next event expires.
Result<Json> described(const View& view, std::string_view id, WorkflowNumber workflow,
                       const Start& start, const Fingerprint& group,
                       const std::vector<uint32_t>& waiting) {
  Json entries = Json::array();
  Json correlate = Json::object();
  std::optional<TimePoint> expires;
  for (size_t i = 0; i < waiting.size() && i < start.events.size(); ++i) {
    entries.push_back({{"type", start.events[i].filter.type}, {"waiting", waiting[i]}});
    const auto head = TRY(
        read_first_grouped(view, {workflow, group, static_cast<uint16_t>(i)}, [](const Error&) {}));
    if (!head) continue;
    const std::optional<TimePoint> one = head->row.record.expires;
    if (one && (!expires || *one < *expires)) expires = one;
    entries.back()["first"] = event_of_entry(*head);
    if (!correlate.empty()) continue;
    const Attributes attributes(head->event);
    for (const std::string& name : start.correlate) {
      if (const auto value = attributes.find(name)) correlate[name] = *value;
    }
  }
  Json item = {{"id", to_string(GroupId{std::string(id), group})},
               {"workflow", id},
               {"correlate", std::move(correlate)},
               {"entries", entries}};
  if (expires) item["expiresAt"] = format_rfc3339(*expires);
  return item;
}

bool has_values(const Json& item, const std::map<std::string, std::string>& wanted) {
  const Json& correlate = item.at("correlate");
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    const auto found = correlate.find(one.first);
    return found != correlate.end() && *found == one.second;
  });
}

/// Whether a group of the start can have values of all these attributes.
bool correlates(const Start& start, const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    const auto& names = start.correlate;
    return std::find(names.begin(), names.end(), one.first) != names.end();
  });
}

}  // namespace

/// The group with that id, if it fits the other members of the filter.
Result<Json> Queries::one_group(const View& view, const Workflows& known,
                                const GroupFilter& filter) {
  Json page{{"items", Json::array()}, {"next", nullptr}};
  const auto id = parse_group_id(filter.id);
  const auto workflow = id ? known.find(id->workflow) : known.end();
  if (workflow == known.end()) return page;
  if (!filter.workflow.empty() && filter.workflow != id->workflow) return page;
  const WorkflowRecord& record = workflow->second;
  const auto waiting = TRY(read_counts(view, record.number, id->group));
  if (!waiting) return page;
  const auto loaded = TRY(definitions_.find_or_load(view, {record.number, record.latest}));
  if (loaded->start.kind != Start::Kind::kEventsAnd) return page;
  const Json item =
      TRY(described(view, id->workflow, record.number, loaded->start, id->group, *waiting));
  if (has_values(item, filter.correlate)) page["items"].push_back(item);
  return page;
}

Result<Json> Queries::groups(const View& view, std::string_view ns, size_t limit,
                             std::string_view cursor, const GroupFilter& filter) {
  // TRY is not used: with it, g++ 12 warns about freeing the map of a failed result.
  const Result<Workflows> known = workflows_of(view, ns);
  if (!known) return tl::unexpected(known.error());
  if (!filter.workflow.empty()) TRY(find_workflow(view, ns, filter.workflow));
  if (!filter.id.empty()) return one_group(view, *known, filter);
  const GroupCursor from = TRY(parse_cursor(cursor));
  Json items = Json::array();
  Json next = nullptr;
  std::string last;
  std::string behind;  // the cursor behind the workflows that were looked at
  size_t bytes = 0;    // of their definitions
  size_t looked = 0;
  for (auto one = known->lower_bound(from.workflow); one != known->end() && next.is_null(); ++one) {
    const std::string& id = one->first;
    const auto& record = one->second;
    if (!filter.workflow.empty() && id != filter.workflow) continue;
    if (bytes >= Page::kMostBytes) {
      next = behind;
      break;
    }
    const Revision revision{record.number, record.latest};
    bytes += TRY(definition_bytes(view, revision));
    behind = to_text(id, kBehindAllGroups);
    const auto workflow = TRY(definitions_.find_or_load(view, revision));
    if (workflow->start.kind != Start::Kind::kEventsAnd) continue;
    if (!correlates(workflow->start, filter.correlate)) continue;
    TRY(each_group(
        view, record.number, id == from.workflow ? from.behind : std::nullopt,
        [&](const Fingerprint& group, const std::vector<uint32_t>& waiting) -> Result<bool> {
          if (items.size() == limit || looked == kMostGroupsLooked) {
            next = last;
            return false;
          }
          ++looked;
          last = to_text(id, group);
          Json item = TRY(described(view, id, record.number, workflow->start, group, waiting));
          if (has_values(item, filter.correlate)) items.push_back(std::move(item));
          return true;
        }));
  }
  return Json{{"items", std::move(items)}, {"next", std::move(next)}};
}

}  // namespace millrace
