// LocalService: the calls of instances, and the answers of their tasks that come later.
#include <utility>

#include "orchestrator/service/local_service.h"

namespace millrace {

void LocalService::answer_task(CallbackRequest request, Done done) {
  const auto task = parts_.attempt_keys.task_of(request.key);
  parts_.metrics.count_callback(task.has_value());
  if (!task) {
    return done(fail("callback.refused",
                     "the key is not one that this server has given to a service; use the URL in "
                     "the header Millrace-Callback of the task, unchanged"));
  }
  parts_.intake.command(
      AnswerTask{.ns = std::move(request.ns), .task = *task, .what = std::move(request.what)},
      std::move(done));
}

Result<Json> LocalService::instance_calls(std::string_view ns, const InstanceId& id, size_t limit,
                                          std::string_view cursor) {
  return read(
      [&](const View& view) { return parts_.queries.instance_calls(view, ns, id, limit, cursor); });
}

Result<Json> LocalService::accepted_tasks(std::string_view ns, const AcceptedFilter& filter) {
  return read([&](const View& view) { return parts_.queries.accepted_tasks(view, ns, filter); });
}

Result<Json> LocalService::instance_children(std::string_view ns, const InstanceId& id,
                                             size_t limit, std::string_view cursor) {
  return read([&](const View& view) {
    return parts_.queries.instance_children(view, ns, id, limit, cursor);
  });
}

}  // namespace millrace
