// Queries about the starts that wait for slots or the throttles of their workflows, and the calls
// that wait for those of their services.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "states/workflow.h"

namespace millrace {
namespace {

/// How many keys one page looks at.
constexpr size_t kMostQueuesLooked = 10'000;

/// A position in the list: the id of a workflow, and its key that was looked at last. With a key
/// and without a workflow: the key of calls, which come after the starts.
struct QueueCursor {
  std::string workflow;
  std::optional<SlotKey> behind;  ///< without the number of the workflow
};

/// What stands before the fingerprint of a key of a throttle. No fingerprint begins with it.
constexpr char kThrottleMark = 't';

std::string queue_cursor(std::string_view workflow, const SlotKey& key) {
  return fmt::format("{}/{}{}", workflow, key.is_throttle ? std::string(1, kThrottleMark) : "",
                     to_string(InstanceId{key.key}));
}

Result<QueueCursor> parse_queue_cursor(std::string_view text) {
  if (text.empty()) return QueueCursor{};
  const size_t slash = text.rfind('/');  // without a slash, npos + 1 is 0
  std::string_view place = text.substr(slash + 1);
  const bool is_throttle = place.starts_with(kThrottleMark);
  if (is_throttle) place.remove_prefix(1);
  const auto key = parse_instance_id(place);
  if (slash == std::string_view::npos || !key) return malformed_cursor();
  return QueueCursor{std::string(text.substr(0, slash)),
                     SlotKey{.is_throttle = is_throttle, .key = key->bytes}};
}

void pass_over_damage(const Error&) {}

/// Adds to the item of a key what the newest revision of the workflow permits.
Status describe_limit(const View& view, const SlotKey& key, const Workflow& newest, Json& item) {
  if (!key.is_throttle) {
    if (newest.concurrency) item["limit"] = newest.concurrency->limit;
    return {};
  }
  if (!newest.throttle) return {};
  item["limit"] = newest.throttle->rate.limit;
  item["period"] = newest.throttle->rate.period.text;
  return add_next_at(view, rate_place(view, key), newest.throttle->rate, item);
}

Result<Json> described_queue(const View& view, std::string_view workflow, const SlotKey& key,
                             const SlotCounts& counts, const Workflow* newest) {
  Json item{{"kind", "starts"},
            {"workflow", workflow},
            {"reason", key.is_throttle ? "throttle" : "concurrency"},
            {"queued", counts.queued}};
  if (!key.is_throttle) item["held"] = counts.held;
  if (counts.sealed) {
    item["key"] = "(sealed)";
  } else if (!counts.key.empty()) {
    item["key"] = slot_key_json(counts.key);
  }
  if (newest != nullptr) TRY(describe_limit(view, key, *newest, item));
  const auto place = [&](const SlotPlace& one) {
    return Json{{"instance", to_string(one.instance)}, {"since", format_rfc3339(one.since)}};
  };
  if (const auto next = TRY(read_first_place(view, waiting_kind(key), key, pass_over_damage))) {
    item["next"] = place(*next);
    item["next"]["priority"] = next->priority;
  }
  if (key.is_throttle) return item;
  if (const auto holder = TRY(read_first_place(view, QueueRow::kHolder, key, pass_over_damage))) {
    item["holder"] = place(*holder);
  }
  return item;
}

/// A call, with the instance that made it, if its task can be read.
Result<Json> call_place_json(const View& view, const CallPlaceRecord& record) {
  Json item{{"task", to_string(record.task)}, {"since", format_rfc3339(record.since)}};
  const auto task = read_task(view, record.task);
  if (!task && !is_damaged_row(task.error())) return tl::unexpected(task.error());
  if (task && *task) item["instance"] = to_string((*task)->by);
  return item;
}

/// Adds to the item of a key what the throttle of the call that is next permits.
Status describe_call_throttle(const View& view, const CallSlotKey& key, const CallPlaceRecord& next,
                              Json& item) {
  const StartLimit rate = rate_of(next);
  item["period"] = rate.period.text;
  return add_next_at(view, rate_place(view, key), rate, item);
}

Result<Json> described_calls(const View& view, const CallSlotKey& key,
                             const CallSlotCounts& counts) {
  Json item = slot_service_json(counts.service);
  item.update({{"kind", "calls"},
               {"reason", key.is_throttle ? "throttle" : "concurrency"},
               {"limit", counts.limit},
               {"queued", counts.queued}});
  if (!key.is_throttle) item["held"] = counts.held;
  if (counts.paused > 0) item["paused"] = counts.paused;
  if (counts.sealed) {
    item["key"] = "(sealed)";
  } else if (!counts.key.empty()) {
    item["key"] = slot_key_json(counts.key);
  }
  const auto next = TRY(read_first_call(view, waiting_kind(key), key, pass_over_damage));
  if (next) {
    item["next"] = TRY(call_place_json(view, next->record));
    item["next"]["priority"] = next->place.priority;
    item["limit"] = next->record.limit;  // a call goes by its own limit
    if (key.is_throttle) TRY(describe_call_throttle(view, key, next->record, item));
  }
  if (key.is_throttle) return item;
  const auto holder = TRY(read_first_call(view, QueueRow::kCallHolder, key, pass_over_damage));
  if (holder) item["holder"] = TRY(call_place_json(view, holder->record));
  return item;
}

/// The items of one page, and where the next page begins.
struct QueuePage {
  size_t limit = 0;
  Json items = Json::array();
  Json next = nullptr;
  std::string last = {};  ///< the position of the key that was looked at last
  size_t looked = 0;

  /// Whether a further key must wait for the next page; else counts that it is looked at.
  bool is_full_at(std::string at) {
    if (items.size() == limit || looked == kMostQueuesLooked) {
      next = last;
      return true;
    }
    ++looked;
    last = std::move(at);
    return false;
  }
};

/// Adds the keys of calls.
Status add_calls(const View& view, NamespaceNumber ns, const std::optional<CallSlotKey>& behind,
                 QueuePage& page) {
  Status status;
  TRY(each_call_counts(
      view, ns, behind,
      [&](const CallSlotKey& key, const CallSlotCounts& counts) {
        const SlotKey at{.is_throttle = key.is_throttle, .key = key.key};
        if (page.is_full_at(queue_cursor("", at))) return false;
        if (counts.queued == 0) return true;
        auto item = described_calls(view, key, counts);
        if (!item) {
          status = tl::unexpected(item.error());
          return false;
        }
        page.items.push_back(*std::move(item));
        return true;
      },
      pass_over_damage));
  return status;
}

}  // namespace

Result<Json> Queries::queues(const View& view, std::string_view ns, size_t limit,
                             std::string_view cursor, std::string_view workflow) {
  // TRY is not used: with it, g++ 12 warns about freeing the map of a failed result.
  const Result<Workflows> known = workflows_of(view, ns);
  if (!known) return tl::unexpected(known.error());
  if (!workflow.empty()) TRY(find_workflow(view, ns, workflow));
  const QueueCursor from = TRY(parse_queue_cursor(cursor));
  QueuePage page{.limit = limit};
  const bool is_behind_starts = from.behind && from.workflow.empty();
  for (auto one = known->lower_bound(from.workflow);
       !is_behind_starts && one != known->end() && page.next.is_null(); ++one) {
    const std::string& id = one->first;
    const WorkflowRecord& record = one->second;
    if (!workflow.empty() && id != workflow) continue;
    std::optional<std::shared_ptr<const Workflow>> definition;  // set once it was read
    Status status;
    TRY(each_slot_counts(
        view, record.number, id == from.workflow ? from.behind : std::nullopt,
        [&](const SlotKey& key, const SlotCounts& counts) {
          if (page.is_full_at(queue_cursor(id, key))) return false;
          if (counts.queued == 0) return true;
          if (!definition) {
            const auto newest = definitions_.find_or_load(view, {record.number, record.latest});
            definition = newest ? *newest : nullptr;
          }
          auto item = described_queue(view, id, key, counts, definition->get());
          if (!item) {
            status = tl::unexpected(item.error());
            return false;
          }
          page.items.push_back(*std::move(item));
          return true;
        },
        pass_over_damage));
    TRY(status);
  }
  if (workflow.empty() && page.next.is_null()) {
    const NamespaceNumber number = TRY(find_namespace(view, ns));
    std::optional<CallSlotKey> behind;
    if (is_behind_starts) {
      behind = CallSlotKey{number, from.behind->key, from.behind->is_throttle};
    }
    TRY(add_calls(view, number, behind, page));
  }
  return Json{{"items", std::move(page.items)}, {"next", std::move(page.next)}};
}

}  // namespace millrace
