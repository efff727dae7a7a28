// The query of accepted tasks: those that a service has accepted and answers later by a callback.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "orchestrator/batch/commands/not_found.h"
#include "orchestrator/service/call_item.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// The most tasks at which one page looks, and the most bytes of their rows.
constexpr size_t kMostLookedTasks = 20'000;
constexpr size_t kMostLookedBytes = size_t{8} << 20;

/// The call that waits for a task, and the sealing of its instance.
struct WaitingCall {
  Call call;
  Sealing instance;
};

/// nullopt: no call waits, or its rows are damaged.
Result<std::optional<WaitingCall>> call_of(const View& view, const StartTask& task) {
  if (!task.caller) return std::optional<WaitingCall>();
  auto caller = read_caller(view, task.ns, *task.caller);
  if (!caller && !is_damaged_row(caller.error())) return tl::unexpected(caller.error());
  if (!caller || !*caller) return std::optional<WaitingCall>();
  std::vector<Call>& calls = (*caller)->calls;
  if (task.caller->index >= calls.size()) return std::optional<WaitingCall>();
  Call& call = calls[task.caller->index];
  if (call.id != task.task) return std::optional<WaitingCall>();
  return WaitingCall{.call = std::move(call), .instance = (*caller)->sealed};
}

/// The earliest time at which a timeout ends the task, as far as it is known.
std::optional<TimePoint> deadline_of(const StartTask& task, const std::optional<WaitingCall>& by) {
  std::optional<TimePoint> earliest = task.deadline;
  if (!by) return earliest;
  for (const auto& deadline : by->call.deadlines) {
    if (deadline && (!earliest || *deadline < *earliest)) earliest = deadline;
  }
  return earliest;
}

Result<Json> accepted_item(const View& view, std::string_view ns, const StartTask& task,
                           Disclosures& disclosures) {
  Json item{{"task", to_string(task.task)},
            {"namespace", ns},
            {"instance", to_string(task.by)},
            {"state", task.state},
            {"function", task.function},
            {"attempt", task.attempt},
            {"since", format_rfc3339(std::min(time_of(task.task), kLastTime))}};
  const std::optional<WaitingCall> by = TRY(call_of(view, task));
  if (const auto deadline = deadline_of(task, by)) item["deadline"] = format_rfc3339(*deadline);
  if (by) add_progress(item, by->call, by->instance, disclosures);
  if (!task.caller) item["detached"] = true;
  return item;
}

Json with_end(Page page, size_t looked) {
  Json json = std::move(page).json();
  json["complete"] = true;
  json["looked"] = looked;
  return json;
}

/// The tasks of the calls of an instance that run, with higher ids than `behind`.
Result<std::set<InstanceId>> tasks_of_calls(const View& view, const Instance& head,
                                            const std::optional<InstanceId>& behind) {
  std::set<InstanceId> tasks;
  for (const Call& call : TRY(read_some_calls(view, head, 0, kMostCalls))) {
    if (!call.outside || call.status != Call::Status::kRunning) continue;
    if (!behind || *behind < call.id) tasks.insert(call.id);
  }
  return tasks;
}

/// The accepted tasks of the calls of one instance.
Result<Json> accepted_of(const View& view, std::string_view ns, const Instance& head, size_t limit,
                         const std::optional<InstanceId>& behind, Disclosures& disclosures) {
  Page page(limit);
  size_t looked = 0;
  for (const InstanceId& id : TRY(tasks_of_calls(view, head, behind))) {
    ++looked;
    const auto task = read_task(view, id);
    if (!task && !is_damaged_row(task.error())) return tl::unexpected(task.error());
    if (!task || !*task || !(*task)->is_accepted) continue;
    if (!page.has_room()) break;
    page.add(TRY(accepted_item(view, ns, **task, disclosures)), to_string(id));
  }
  return with_end(std::move(page), looked);
}

}  // namespace

Result<Json> Queries::accepted_tasks(const View& view, std::string_view ns,
                                     const AcceptedFilter& filter) {
  std::optional<InstanceId> behind;
  if (!filter.cursor.empty()) {
    const Result<InstanceId> last = parse_instance_id(filter.cursor);
    if (!last) return malformed_cursor();
    behind = *last;
  }
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  Disclosures disclosures = TRY(Disclosures::read(view, ns, number));
  if (filter.instance) {
    const auto head = TRY(read_head_anywhere(view, number, *filter.instance));
    if (!head) return tl::unexpected(no_instance(ns, *filter.instance));
    return accepted_of(view, ns, *head, filter.limit, behind, disclosures);
  }
  Page page(filter.limit);
  const WalkBounds bounds = bounds_from_now();
  size_t looked = 0;
  size_t bytes = 0;
  Status status;
  const auto see = [&](const StartTask& task, size_t row_bytes) {
    if (looked > 0 &&
        (looked == kMostLookedTasks || bytes >= kMostLookedBytes || bounds.is_over())) {
      page.continue_at(to_string(*behind));
      return false;
    }
    if (task.ns == number && task.is_accepted) {
      if (!page.has_room()) return false;
      Result<Json> item = accepted_item(view, ns, task, disclosures);
      if (!item) {
        status = tl::unexpected(std::move(item).error());
        return false;
      }
      page.add(*std::move(item), to_string(task.task));
    }
    ++looked;
    bytes += row_bytes;
    behind = task.task;
    return true;
  };
  TRY(some_tasks(
      view, see, [](const Error&) {}, behind));
  TRY(std::move(status));
  return with_end(std::move(page), looked);
}

}  // namespace millrace
