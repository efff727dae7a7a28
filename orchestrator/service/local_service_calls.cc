// LocalService: the calls of instances, and the answers of their tasks that come later.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/service/local_service.h"

namespace millrace {

void LocalService::answer_task(CallbackRequest request, Done done) {
  // As long as another process may own the streams, that process may have the task: to refuse the
  // key, or to take the answer into this store, would be final for the service.
  const Status owned = parts_.has_owned ? parts_.has_owned() : Status();
  if (!owned) {
    return done(fail(owned.error().code,
                     fmt::format("this process does not own the streams yet, so it cannot answer a "
                                 "callback; send the same request again: {}",
                                 owned.error().message)));
  }
  const auto task = parts_.attempt_keys.task_of(request.key);
  parts_.metrics.count_callback(task.has_value());
  if (!task) {
    return done(fail("callback.refused",
                     "the key is not one that this server has given to a service; use the URL in "
                     "the header Millrace-Callback of the task, unchanged"));
  }
  auto* const ended = std::get_if<TaskEnded>(&request.what);
  if (ended == nullptr || parts_.call_files == nullptr) {
    return parts_.intake.command(AnswerTask{.ns = std::move(request.ns),
                                            .task = *task,
                                            .what = std::move(request.what),
                                            .by = request.by},
                                 std::move(done));
  }
  const CallAccess access{.task = *task, .key = request.key.substr(request.key.find('.') + 1)};
  parts_.call_files->collect(access, std::move(*ended),
                             [this, ns = std::move(request.ns), task = *task, by = request.by,
                              done = std::move(done)](Result<CollectedAnswer> answer) mutable {
                               end_task({.ns = std::move(ns), .task = task, .by = by},
                                        std::move(answer), std::move(done));
                             });
}

/// Ends the task with an answer whose files were collected.
void LocalService::end_task(AnswerTask command, Result<CollectedAnswer> answer, Done done) {
  if (!answer) return done(tl::unexpected(std::move(answer).error()));
  command.has_files = answer->has_files;
  command.wrong_files = std::move(answer->wrong_files);
  const InstanceId task = command.task;
  auto settled = [settle = std::move(answer->settle), done = std::move(done)](Result<Json> ended) {
    if (settle) settle(ended.has_value());
    done(std::move(ended));
  };
  std::vector<TaskVariable> variables = std::exchange(answer->ended.variables, {});
  parts_.answers->stage(
      task, std::move(variables),
      [this, command = std::move(command), ended = std::move(answer->ended),
       settled = std::move(settled)](Result<std::vector<TaskVariable>> staged) mutable {
        if (!staged) return settled(tl::unexpected(std::move(staged).error()));
        ended.variables = *std::move(staged);
        command.what = std::move(ended);
        parts_.intake.command(std::move(command), std::move(settled));
      });
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
