// Which task gets which container: the namespace with the fewest containers comes first, and its
// tasks in the order in which they came; `scale` containers are kept running; an idle container is
// removed if another function needs its place.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "functions/container_impl.h"
#include "functions/files.h"
#include "functions/service_protocol.h"

namespace millrace {

void ContainerRunner::Impl::assign() {
  if (!has_waiting_calls() && !is_clean_) return;
  if (!clean_up()) {
    return fail_all_waiting(
        {std::string(kFunctionUnavailable),
         "functions in containers need podman or docker, and neither was found"});
  }
  if (!is_clean_ || !permission_.is_valid()) return;
  for (auto& [key, service] : services_) call_ready(service);
  while (std::deque<Ticket>* const first = first_in_need()) {
    if (!permission_.is_valid()) return;
    if (boxes_.size() >= settings_.containers) return make_room();
    if (Service* const service = service_of(first)) {
      start_service(*service);
    } else {
      start_isolated(*first);
    }
  }
  isolated_.clear();  // all these queues are empty
  for (auto& [key, service] : services_) keep(service);
  for (auto service = services_.begin(); service != services_.end();) {
    service = is_over(service->second) ? services_.erase(service) : std::next(service);
  }
}

/// Whether the service has no waiting tasks, no containers and no `scale`.
bool ContainerRunner::Impl::is_over(Service& service) {
  return service.container.scale == 0 && jobs_.front(service.waiting) == nullptr &&
         std::none_of(boxes_.begin(), boxes_.end(),
                      [&](const auto& box) { return box->service == &service; });
}

/// Gives each waiting task to the ready container with the fewest calls, up to `calls_each` in a
/// container.
void ContainerRunner::Impl::call_ready(Service& service) {
  while (Job* const job = jobs_.front(service.waiting)) {
    Box* least = nullptr;
    for (const std::unique_ptr<Box>& box : boxes_) {
      const bool is_one = box->service == &service && box->is_ready && !box->is_let_go;
      if (is_one && (least == nullptr || box->calls.size() < least->calls.size())) {
        least = box.get();
      }
    }
    if (least == nullptr || least->calls.size() >= settings_.calls_each) return;
    service.waiting.pop_front();
    call(*job, *least);
  }
}

void ContainerRunner::Impl::call(Job& job, Box& box) {
  const std::string id = to_string(job.task.id);
  const Status done = lay_out_files(job.task.files, box.folder / id);
  if (!done) return end(job, task_failed(done.error()));
  job.box = &box;
  box.calls.insert(job.task.id);
  job.task.files.clear();
  jobs_.report(job, TaskStarted());
  const Ticket ticket = job.ticket();
  ServiceWatch watch{.alive = [inbox = inbox_, ticket] { inbox->put(CallHeartbeat{ticket}); },
                     .done =
                         [inbox = inbox_, ticket](TaskEnded answer) {
                           inbox->put(CallDone{ticket, std::move(answer)});
                         }};
  if (job.task.callback) {
    watch.accepted = [inbox = inbox_, ticket] { inbox->put(CallAccepted{ticket}); };
  }
  job.call = call_service(http_, box.url(), job.task, fmt::format("{}/{}", kSharedMount, id),
                          std::move(watch));
  job.task.input.clear();
}

/// The queue that needs a new container: of the namespaces with the fewest containers, the queue
/// whose first task came first; null: none.
std::deque<Ticket>* ContainerRunner::Impl::first_in_need() {
  std::map<std::string, size_t> containers;
  for (const std::unique_ptr<Box>& box : boxes_) ++containers[box->ns];
  std::deque<Ticket>* first = nullptr;
  std::pair<size_t, uint64_t> rank;
  const auto offer = [&](const std::string& ns, std::deque<Ticket>& waiting) {
    const Job* const job = jobs_.front(waiting);
    if (job == nullptr) return;
    const std::pair<size_t, uint64_t> its_rank(containers[ns], job->number);
    if (first != nullptr && its_rank >= rank) return;
    rank = its_rank;
    first = &waiting;
  };
  for (auto& [ns, waiting] : isolated_) offer(ns, waiting);
  for (auto& [key, service] : services_) {
    if (count_of(service) == 0) offer(service.ns, service.waiting);
  }
  return first;
}

/// The service with that queue; null: the queue is one of isolated functions.
ContainerService* ContainerRunner::Impl::service_of(const std::deque<Ticket>* waiting) {
  for (auto& [key, service] : services_) {
    if (&service.waiting == waiting) return &service;
  }
  return nullptr;
}

/// Makes room for a waiting task by removing an idle container: first one beyond `scale`, and of
/// those the one that was not used for the longest time. Does nothing if a container is being
/// removed already.
void ContainerRunner::Impl::make_room() {
  Box* oldest = nullptr;
  const auto rank = [this](const Box& box) {
    return std::pair(count_of(*box.service) <= box.service->container.scale, box.last_used);
  };
  for (const std::unique_ptr<Box>& box : boxes_) {
    if (box->is_let_go) return;
    if (box->service == nullptr || !box->is_ready || !box->calls.empty()) continue;
    if (oldest == nullptr || rank(*box) < rank(*oldest)) oldest = box.get();
  }
  if (oldest != nullptr) let_go(*oldest);
}

/// Starts containers up to `scale`, as long as the limit of containers permits it.
void ContainerRunner::Impl::keep(Service& service) {
  while (permission_.is_valid() && now_ >= service.kept_from &&
         count_of(service) < service.container.scale && boxes_.size() < settings_.containers) {
    start_service(service);
  }
}

}  // namespace millrace
