// The query that finds what a text may name in the store: an instance, a workflow, an idempotency
// key, a group, a task, a replay of a range, a source, an inbound webhook, a service. Each is
// looked up by its key; no table is scanned, except the pending starts, within a bound, for the
// whole id of the instance that will start.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "model/task.h"
#include "orchestrator/batch/group_id.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/service/event_replays.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/missing_instance.h"
#include "orchestrator/service/pending_start_item.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/replay_rows.h"
#include "orchestrator/store/rows/source_rows.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

// The most items of the kinds of which a text may name several. A text names at most one of each
// other kind. Together with the events (kMostFoundEvents) and the dead letters (kMostFoundLetters)
// they are about 20.
constexpr size_t kMostFoundInstances = 7;
constexpr size_t kMostFoundWorkflows = 5;
constexpr size_t kMostFoundKeys = 4;

Json found_item(std::string_view kind, std::string id, std::string label) {
  return {{"kind", kind}, {"id", std::move(id)}, {"label", std::move(label)}};
}

/// The newest heads of a namespace in a range of ids, live or ended; one more than are found says
/// that there are others.
Result<std::vector<StoredHead>> newest_heads(const View& view, NamespaceNumber ns,
                                             const IdRange& range) {
  std::vector<StoredHead> heads;
  for (const Table table : {Table::kLive, Table::kEnded}) {
    auto some =
        TRY(some_heads(view, table, ns, range, Direction::kBackward, kMostFoundInstances + 1));
    std::move(some.begin(), some.end(), std::back_inserter(heads));
  }
  std::sort(heads.begin(), heads.end(),
            [](const StoredHead& one, const StoredHead& other) { return one.id > other.id; });
  heads.resize(std::min(heads.size(), kMostFoundInstances + 1));
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

/// What the store has under one key, for a text that may name it: null if there is nothing.
Result<Json> found_task(const View& view, NamespaceNumber ns, std::string_view text,
                        const StartedTasks& started) {
  const Result<InstanceId> id = parse_instance_id(text);
  if (!id) return Json();
  const auto task = read_task(view, *id);
  if (!task && !is_damaged_row(task.error())) return tl::unexpected(task.error());
  // The namespace of a damaged task is not known.
  if (!task || !*task || (*task)->ns != ns) return Json();
  const StartTask& one = **task;
  const std::string_view waits = started.contains(one.task) ? "running" : "scheduled";
  Json item = found_item("task", to_string(*id),
                         fmt::format("function {} of state {}, attempt {}, {}", one.function,
                                     one.state, one.attempt, one.is_accepted ? "accepted" : waits));
  item["instance"] = to_string(one.by);
  return item;
}

Result<Json> found_replay(const View& view, NamespaceNumber ns, std::string_view text) {
  ReplayPlace place{.ns = ns};
  if (!read_hex(text, place.id)) return Json();
  const auto replay = read_replay(view, place);
  if (!replay && !is_damaged_row(replay.error())) return tl::unexpected(replay.error());
  if (!replay) return found_item("replay", std::string(text), "damaged");
  if (!*replay) return Json();
  const ReplayRecord& one = **replay;
  return found_item("replay", std::string(text),
                    fmt::format("{}, {} of {} events sent{}", name_of_state(one.state), one.sent,
                                one.matched, one.is_dry ? ", dry run" : ""));
}

Result<Json> found_source(const View& view, NamespaceNumber ns, std::string_view text) {
  const auto source = read_source(view, {.ns = ns, .name = std::string(text)});
  if (!source && !is_damaged_row(source.error())) return tl::unexpected(source.error());
  if (!source) return found_item("source", std::string(text), "damaged");
  if (!*source) return Json();
  const std::string& stream = (*source)->stream;
  return found_item("source", std::string(text),
                    fmt::format("{}{}", stream.empty() ? "a stream of its own" : "stream " + stream,
                                (*source)->is_paused ? ", paused" : ""));
}

/// How a service is reached.
struct ReachWord {
  std::string_view operator()(const WorkQueue&) const { return "workers"; }
  std::string_view operator()(const NatsService&) const { return "request"; }
  std::string_view operator()(const HttpService&) const { return "http"; }
  std::string_view operator()(const Container&) const { return "container"; }
};

/// The start that `debounce` or `batch` has put off, from which an instance with that id will
/// start: null if there is none. Sets `is_complete` to false if not all could be looked at.
Result<Json> found_pending(const View& view, NamespaceNumber ns, std::string_view text,
                           bool& is_complete) {
  const Result<InstanceId> id = parse_instance_id(text);
  if (!id) return Json();
  const PutOffSearch search = TRY(find_put_off(view, ns, *id));
  is_complete = is_complete && search.is_complete;
  if (!search.found) return Json();
  const auto& [place, start] = *search.found;
  const NumberedWorkflow workflow = TRY(workflow_with(view, ns, place.workflow));
  if (workflow.id.empty()) return Json();
  Json item = found_item("pendingStart", to_string(*id),
                         fmt::format("{}, put off by {} until {}", workflow.id, put_off_by(start),
                                     format_rfc3339(start.at)));
  item["workflow"] = workflow.id;
  return item;
}

Json found_webhook(const NamespaceSettings& settings, std::string_view text) {
  const auto webhook = settings.inbound.find(text);
  if (webhook == settings.inbound.end()) return nullptr;
  return found_item("webhook", std::string(text),
                    webhook->second.is_paused ? "inbound webhook, paused" : "inbound webhook");
}

/// A service of the settings, or one of whose tasks this process has figures.
Json found_service(const NamespaceSettings& settings, std::string_view text,
                   const ServiceFigures::Figures& figures) {
  const auto service = settings.services.find(text);
  const bool is_set = service != settings.services.end();
  const bool is_paused = settings.paused.contains(text);
  if (!is_set && !is_paused && !figures.p50 && !figures.last_failure) return nullptr;
  const bool has_target = is_set && service->second.target;
  const auto reach = has_target ? std::visit(ReachWord(), *service->second.target) : "workers";
  return found_item("service", std::string(text),
                    fmt::format("{}{}", reach, is_paused ? ", paused" : ""));
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
  const NamespaceRecord record = TRY(find_namespace_record(view, ns));
  const NamespaceNumber number = record.number;
  Json items = Json::array();
  bool is_complete = true;
  if (const Result<IdRange> range = ids_with_prefix(text)) {
    std::vector<StoredHead> heads = TRY(newest_heads(view, number, *range));
    is_complete = heads.size() <= kMostFoundInstances;
    if (!is_complete) heads.pop_back();
    for (const StoredHead& stored : heads) {
      const Result<Instance> head = head_of(view, stored.table, stored.key, stored.value);
      const std::string label = TRY(label_of(view, head));
      items.push_back(found_item("instance", to_string(stored.id), label));
    }
  }
  if (is_identifier(text)) {
    size_t found = 0;
    const auto see = [&](std::string_view id, const WorkflowRecord& one) {
      if (!id.starts_with(text)) return false;
      if (found++ == kMostFoundWorkflows) {
        is_complete = false;
        return false;
      }
      items.push_back(
          found_item("workflow", std::string(id), fmt::format("revision {}", one.latest)));
      return true;
    };
    bool continues = true;
    if (const auto exact = TRY(read_workflow(view, number, text))) continues = see(text, *exact);
    if (continues) TRY(each_workflow_behind(view, number, text, see));
  }
  Disclosures disclosures = TRY(Disclosures::read(view, ns, number));
  const InstanceFilter by_key{.key = std::string(text)};
  const StartedUnderKey started =
      TRY(started_under(view, ns, number, by_key, bounds_from_now(), disclosures));
  size_t keys = 0;
  is_complete = is_complete && !started.is_cut;
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
  const auto add = [&](Json item) {
    if (!item.is_null()) items.push_back(std::move(item));
  };
  if (items.empty()) add(TRY(found_pending(view, number, text, is_complete)));
  add(TRY(found_task(view, number, text, started_)));
  add(TRY(found_replay(view, number, text)));
  if (is_identifier(text)) {
    add(TRY(found_source(view, number, text)));
    const Result<NamespaceSettings> settings = read_settings(record.settings);
    if (settings) add(found_webhook(*settings, text));
    if (settings) add(found_service(*settings, text, started_.services().of(number, text)));
    is_complete = is_complete && settings;
  }
  return Json{{"items", std::move(items)}, {"next", nullptr}, {"complete", is_complete}};
}

}  // namespace millrace
