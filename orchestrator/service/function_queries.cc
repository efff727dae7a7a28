// The query of services: how they are reached, and the tasks for them that have not ended.
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "model/service_url.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// The most tasks at which one query looks, and the most bytes of their rows.
constexpr size_t kMostTasks = 20'000;
constexpr size_t kMostTaskBytes = size_t{8} << 20;

/// A service, as tasks name it.
struct ServiceName {
  std::string name;
  bool is_global = false;  ///< a service of the namespace `default`
  std::string image;       ///< of a container function; empty: a service of the settings

  bool operator<(const ServiceName& other) const {
    return std::tie(name, is_global, image) < std::tie(other.name, other.is_global, other.image);
  }
};

struct ServiceWork {
  uint64_t waiting = 0;
  uint64_t queued = 0;
  uint64_t running = 0;
  std::optional<InstanceId> oldest;  ///< the one that has waited longest of those in `waiting`
};

/// Whether a task that has not started waits for a slot or the throttle of its service, so that no
/// worker can take it.
Result<bool> waits_for_limit(const View& view, const StartTask& task) {
  if (task.slot) {
    const auto place = TRY(find_call_place(view, task));
    if (place && place->kind != QueueRow::kCallHolder) return true;
  }
  if (!task.throttle) return false;
  const auto waits = find_throttled_call(view, task);
  if (!waits && !is_damaged_row(waits.error())) return tl::unexpected(waits.error());
  return waits && waits->has_value();
}

struct ShowTarget {
  Json operator()(const WorkQueue& queue) const {
    return {{"kind", "workers"}, {"at", queue.subject}};
  }
  Json operator()(const NatsService& service) const {
    return {{"kind", "request"}, {"at", service.subject}};
  }
  Json operator()(const HttpService& service) const {
    return {{"kind", "http"}, {"at", shown_url(service.url)}};
  }
  Json operator()(const Container& container) const {
    return {{"kind", "container"}, {"at", container.image}};
  }
};

/// The target of a service of the settings.
TaskTarget target_of(const NamespaceSettings& settings, std::string_view ns,
                     const std::string& service) {
  const auto found = settings.services.find(service);
  if (found != settings.services.end() && found->second.target) return *found->second.target;
  return default_queue(ns, service);
}

Json in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Result<Json> Queries::functions(const View& view, std::string_view ns, Duration at_most) {
  const NamespaceRecord record = TRY(find_namespace_record(view, ns));
  const NamespaceSettings own = TRY(read_settings(record.settings));
  NamespaceSettings global;
  if (const auto shared = TRY(read_namespace(view, kDefaultNamespace))) {
    global = TRY(read_settings(shared->settings));
  }
  std::map<ServiceName, ServiceWork> services;
  for (const auto& [name, setting] : own.services) services[{.name = name, .image = {}}];
  size_t looked = 0;
  size_t bytes = 0;
  bool is_complete = true;
  const auto end = clock_.precise() + at_most;
  Status status;
  const auto see = [&](const StartTask& task, size_t row_bytes) {
    const bool is_over = looked > 0 && clock_.precise() >= end;
    if (is_over || looked == kMostTasks || bytes >= kMostTaskBytes) {
      is_complete = false;
      return false;
    }
    ++looked;
    bytes += row_bytes;
    if (task.ns != record.number) return true;
    ServiceName name{.name = task.function, .image = {}};
    if (const auto* const service = std::get_if<NamedService>(&task.runs)) {
      name.name = service->name;
      name.is_global = service->global;
    } else {
      name.image = std::get<Container>(task.runs).image;
    }
    ServiceWork& work = services[name];
    const Result<bool> is_limited =
        started_.contains(task.task) ? Result<bool>(false) : waits_for_limit(view, task);
    if (!is_limited) {
      status = tl::unexpected(is_limited.error());
      return false;
    }
    if (started_.contains(task.task)) {
      ++work.running;
    } else if (*is_limited) {
      ++work.queued;
    } else {
      ++work.waiting;
      if (!work.oldest || task.task < *work.oldest) work.oldest = task.task;
    }
    return true;
  };
  TRY(some_tasks(view, see, [](const Error&) {}));
  TRY(std::move(status));

  Json items = Json::array();
  Disclosures disclosures = TRY(Disclosures::read(view, ns, record.number));
  for (const auto& [name, work] : services) {
    const NamespaceSettings& settings = name.is_global ? global : own;
    const std::string_view home = name.is_global ? kDefaultNamespace : ns;
    const TaskTarget target = name.image.empty() ? target_of(settings, home, name.name)
                                                 : TaskTarget(Container{.image = name.image});
    Json item{{"service", name.name},
              {"target", std::visit(ShowTarget(), target)},
              {"paused", name.image.empty() && own.paused.contains(name.name)},
              {"waiting", work.waiting},
              {"running", work.running}};
    if (name.is_global) item["global"] = true;
    if (work.queued > 0) item["queued"] = work.queued;
    if (work.oldest) item["oldest"] = format_rfc3339(std::min(time_of(*work.oldest), kLastTime));
    const ServiceFigures::Figures figures = started_.services().of(record.number, name.name);
    if (figures.p50 && figures.p99) {
      item["scheduleToStart"] = {{"p50", in_seconds(*figures.p50)},
                                 {"p99", in_seconds(*figures.p99)}};
    }
    if (const auto& last = figures.last_failure) {
      item["lastError"] = {{"code", last->code}, {"at", format_rfc3339(last->at)}};
      if (last->message) {
        item["lastError"]["message"] = disclosures.of(Sealing::kNone).over(*last->message);
      }
    }
    items.push_back(std::move(item));
  }
  return Json{{"items", std::move(items)},
              {"next", nullptr},
              {"complete", is_complete},
              {"looked", looked}};
}

}  // namespace millrace
