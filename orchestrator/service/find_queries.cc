// The query that finds what a text may name in the store: an instance, a workflow, an idempotency
// key, a group.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/batch/group_id.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"

namespace millrace {
namespace {

// The most items of each kind. Together with the group, the events (kMostFoundEvents) and the dead
// letters (kMostFoundLetters) they are about 20.
constexpr size_t kMostFoundInstances = 7;
constexpr size_t kMostFoundWorkflows = 5;
constexpr size_t kMostFoundKeys = 4;

Json found_item(std::string_view kind, std::string id, std::string label) {
  return {{"kind", kind}, {"id", std::move(id)}, {"label", std::move(label)}};
}

/// The newest heads of a namespace in a range of ids, live or ended.
Result<std::vector<StoredHead>> newest_heads(const View& view, NamespaceNumber ns,
                                             const IdRange& range) {
  std::vector<StoredHead> heads;
  for (const Table table : {Table::kLive, Table::kEnded}) {
    auto some = TRY(some_heads(view, table, ns, range, Direction::kBackward, kMostFoundInstances));
    std::move(some.begin(), some.end(), std::back_inserter(heads));
  }
  std::sort(heads.begin(), heads.end(),
            [](const StoredHead& one, const StoredHead& other) { return one.id > other.id; });
  heads.resize(std::min(heads.size(), kMostFoundInstances));
  return heads;
}

/// What a group is; nullopt: no event waits in it.
Result<std::optional<std::string>> label_of_group(const View& view, NamespaceNumber ns,
                                                  const GroupId& id) {
  const auto workflow = TRY(read_workflow(view, ns, id.workflow));
  if (!workflow) return std::optional<std::string>();
  const auto waiting = TRY(read_counts(view, workflow->number, id.group));
  if (!waiting) return std::optional<std::string>();
  const uint64_t events = std::accumulate(waiting->begin(), waiting->end(), uint64_t{0});
  return std::optional(fmt::format("{}, {} waiting events", id.workflow, events));
}

}  // namespace

Result<std::string> Queries::label_of(const View& view, const Result<Instance>& head) {
  if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
  if (!head) return "damaged";
  const auto workflow = definitions_.find_or_load(view, head->revision);
  if (!workflow && !is_damaged_row(workflow.error())) return tl::unexpected(workflow.error());
  return fmt::format("{}, {}", workflow ? (*workflow)->id : "damaged", to_string(head->status));
}

Result<Json> Queries::find(const View& view, std::string_view ns, std::string_view text) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  Json items = Json::array();
  if (const Result<IdRange> range = ids_with_prefix(text)) {
    const std::vector<StoredHead> heads = TRY(newest_heads(view, number, *range));
    for (const StoredHead& stored : heads) {
      const Result<Instance> head = head_of(view, stored.table, stored.key, stored.value);
      const std::string label = TRY(label_of(view, head));
      items.push_back(found_item("instance", to_string(stored.id), label));
    }
  }
  if (is_identifier(text)) {
    size_t found = 0;
    const auto see = [&](std::string_view id, const WorkflowRecord& record) {
      if (!id.starts_with(text)) return false;
      items.push_back(
          found_item("workflow", std::string(id), fmt::format("revision {}", record.latest)));
      return ++found < kMostFoundWorkflows;
    };
    bool continues = true;
    if (const auto record = TRY(read_workflow(view, number, text))) continues = see(text, *record);
    if (continues) TRY(each_workflow_behind(view, number, text, see));
  }
  Disclosures disclosures = TRY(Disclosures::read(view, ns, number));
  const InstanceFilter by_key{.key = std::string(text)};
  const StartedUnderKey started =
      TRY(started_under(view, ns, number, by_key, bounds_from_now(), disclosures));
  size_t keys = 0;
  bool is_complete = !started.is_cut;
  for (const InstanceId& id : started.ids) {
    if (keys++ == kMostFoundKeys) {
      is_complete = false;
      break;
    }
    const auto head = TRY(read_head_anywhere(view, number, id));
    const std::string label = TRY(label_of(view, *head));
    items.push_back(found_item("key", to_string(id), label));
  }
  if (const auto group = parse_group_id(text)) {
    if (const auto label = TRY(label_of_group(view, number, *group))) {
      items.push_back(found_item("group", std::string(text), *label));
    }
  }
  return Json{{"items", std::move(items)}, {"next", nullptr}, {"complete", is_complete}};
}

}  // namespace millrace
