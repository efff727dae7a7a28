// Queries about the starts that wait for slots of their workflows.
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/queue_rows.h"

namespace millrace {
namespace {

/// How many keys one page looks at.
constexpr size_t kMostQueuesLooked = 10'000;

/// A position in the list: the id of a workflow, and its key that was looked at last.
struct QueueCursor {
  std::string workflow;
  std::optional<Fingerprint> behind;
};

std::string queue_cursor(std::string_view workflow, const Fingerprint& key) {
  return fmt::format("{}/{}", workflow, to_string(InstanceId{key}));
}

Result<QueueCursor> parse_queue_cursor(std::string_view text) {
  if (text.empty()) return QueueCursor{};
  const size_t slash = text.rfind('/');  // without a slash, npos + 1 is 0
  const auto key = parse_instance_id(text.substr(slash + 1));
  if (slash == std::string_view::npos || !key) return malformed_cursor();
  return QueueCursor{std::string(text.substr(0, slash)), key->bytes};
}

void pass_over_damage(const Error&) {}

Result<Json> described_queue(const View& view, std::string_view workflow, const SlotKey& key,
                             const SlotCounts& counts, const std::optional<uint32_t>& limit) {
  Json item{{"workflow", workflow}, {"held", counts.held}, {"queued", counts.queued}};
  if (counts.sealed) {
    item["key"] = "(sealed)";
  } else if (!counts.key.empty()) {
    item["key"] = slot_key_json(counts.key);
  }
  if (limit) item["limit"] = *limit;
  const auto place = [&](const SlotPlace& one) {
    return Json{{"instance", to_string(one.instance)}, {"since", format_rfc3339(one.since)}};
  };
  if (const auto next = TRY(read_first_place(view, QueueRow::kWaiting, key, pass_over_damage))) {
    item["next"] = place(*next);
    item["next"]["priority"] = next->priority;
  }
  if (const auto holder = TRY(read_first_place(view, QueueRow::kHolder, key, pass_over_damage))) {
    item["holder"] = place(*holder);
  }
  return item;
}

}  // namespace

Result<Json> Queries::queues(const View& view, std::string_view ns, size_t limit,
                             std::string_view cursor, std::string_view workflow) {
  // TRY is not used: with it, g++ 12 warns about freeing the map of a failed result.
  const Result<Workflows> known = workflows_of(view, ns);
  if (!known) return tl::unexpected(known.error());
  if (!workflow.empty()) TRY(find_workflow(view, ns, workflow));
  const QueueCursor from = TRY(parse_queue_cursor(cursor));
  Json items = Json::array();
  Json next = nullptr;
  std::string last;
  size_t looked = 0;
  for (auto one = known->lower_bound(from.workflow); one != known->end() && next.is_null(); ++one) {
    const std::string& id = one->first;
    const WorkflowRecord& record = one->second;
    if (!workflow.empty() && id != workflow) continue;
    std::optional<std::optional<uint32_t>> most;  // set once the definition was read
    Status status;
    TRY(each_slot_counts(
        view, record.number, id == from.workflow ? from.behind : std::nullopt,
        [&](const SlotKey& key, const SlotCounts& counts) {
          if (items.size() == limit || looked == kMostQueuesLooked) {
            next = last;
            return false;
          }
          ++looked;
          last = queue_cursor(id, key.key);
          if (counts.queued == 0) return true;
          if (!most) {
            const auto newest = definitions_.find_or_load(view, {record.number, record.latest});
            most.emplace();
            if (newest && (*newest)->concurrency) most->emplace((*newest)->concurrency->limit);
          }
          auto item = described_queue(view, id, key, counts, *most);
          if (item) items.push_back(*std::move(item));
          if (!item) status = tl::unexpected(item.error());
          return status.has_value();
        },
        pass_over_damage));
    TRY(status);
  }
  return Json{{"items", std::move(items)}, {"next", std::move(next)}};
}

}  // namespace millrace
