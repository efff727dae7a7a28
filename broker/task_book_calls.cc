// The requests of a TaskBook to NATS services: how many of a namespace are under way, and which of
// them NATS has refused.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "broker/task_book.h"

namespace millrace {
namespace {

/// How many bytes of the subject the message of the error shows.
constexpr size_t kSubjectShown = 256;

Error refused_by_nats(std::string_view subject) {
  const std::string shown = excerpt(subject, kSubjectShown);
  return {std::string(kFunctionRefused),
          fmt::format("NATS refused the request on the subject {}: its user for millrace may not "
                      "publish on this subject; let the operator give this user the permission to "
                      "publish {} (docs/nats.md, \"Permissions\"), or name another subject",
                      shown, shown)};
}

}  // namespace

/// Takes the request of a new task for a service.
void TaskBook::add_call(const InstanceId& task, Entry& entry) {
  entry.requests = requests_.try_emplace(entry.message->subject).first;
  entry.requests->second.insert(task);
  call(task, entry);
}

/// Lets the request of a task be sent to its service, or keeps it until others have ended.
void TaskBook::call(const InstanceId& task, Entry& entry) {
  Space& space = entry.ns->second;
  entry.is_called = space.calls < settings_.most_calls;
  if (entry.is_called) ++space.calls;
  (entry.is_called ? calls_ : space.waiting).push_back(task);
}

/// After a request to a service of the namespace has ended: lets the next one be sent.
void TaskBook::call_next(Space& space) {
  --space.calls;
  while (!space.waiting.empty()) {
    const auto at = tasks_.find(space.waiting.front());
    space.waiting.pop_front();
    if (at != tasks_.end() && !at->second.is_called) return call(at->first, at->second);
  }
}

std::vector<TaskReport> TaskBook::refused(const std::string& subject) {
  std::vector<TaskReport> reports;
  const auto found = requests_.find(subject);
  if (found == requests_.end()) return reports;
  const std::vector<InstanceId> tasks(found->second.begin(), found->second.end());
  for (const InstanceId& task : tasks) {
    const auto at = tasks_.find(task);
    const bool was_sent = at->second.message == nullptr || at->second.sent;
    if (!was_sent) continue;
    forget(at);
    reports.push_back({task, TaskEnded{.result = tl::unexpected(refused_by_nats(subject))}});
  }
  return reports;
}

void TaskBook::forget_request(Tasks::iterator at) {
  const Requests::iterator requests = at->second.requests;
  requests->second.erase(at->first);
  if (requests->second.empty()) requests_.erase(requests);
}

}  // namespace millrace
