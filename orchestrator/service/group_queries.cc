// Queries about the groups of eventsAnd starts.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/attributes.h"
#include "cloudevents/json_format.h"
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

/// Describes a group: the attributes that its events share, how many events wait for each entry,
/// and when the next event expires.
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
    const std::optional<TimePoint> one = head->record.expires;
    if (one && (!expires || *one < *expires)) expires = one;
    if (!correlate.empty()) continue;
    const Result<Event> event = decode_json_event(head->record.event);
    if (!event) continue;
    const Attributes attributes(*event);
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

}  // namespace

Result<Json> Queries::groups(const View& view, std::string_view ns, size_t limit,
                             std::string_view cursor) {
  // TRY is not used: with it, g++ 12 warns about freeing the map of a failed result.
  const Result<Workflows> known = workflows_of(view, ns);
  if (!known) return tl::unexpected(known.error());
  const GroupCursor from = TRY(parse_cursor(cursor));
  Json items = Json::array();
  Json next = nullptr;
  std::string last;
  std::string behind;  // the cursor behind the workflows that were looked at
  size_t bytes = 0;    // of their definitions
  for (auto one = known->lower_bound(from.workflow); one != known->end() && next.is_null(); ++one) {
    const std::string& id = one->first;
    const auto& record = one->second;
    if (bytes >= Page::kMostBytes) {
      next = behind;
      break;
    }
    const Revision revision{record.number, record.latest};
    bytes += TRY(definition_bytes(view, revision));
    behind = to_text(id, kBehindAllGroups);
    const auto workflow = TRY(definitions_.find_or_load(view, revision));
    if (workflow->start.kind != Start::Kind::kEventsAnd) continue;
    std::vector<std::pair<Fingerprint, std::vector<uint32_t>>> page;
    TRY(each_group(
        view, record.number, id == from.workflow ? from.behind : std::nullopt,
        [&](const Fingerprint& group, const std::vector<uint32_t>& waiting) -> Result<bool> {
          if (items.size() + page.size() == limit) {
            next = last;
            return false;
          }
          page.emplace_back(group, waiting);
          last = to_text(id, group);
          return true;
        }));
    for (const auto& [group, waiting] : page) {
      items.push_back(TRY(described(view, id, record.number, workflow->start, group, waiting)));
    }
  }
  return Json{{"items", std::move(items)}, {"next", std::move(next)}};
}

}  // namespace millrace
