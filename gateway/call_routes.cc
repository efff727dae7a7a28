// The routes of tasks that a service has accepted: which wait for an answer, and the answer of an
// operator in place of the service. They need the token; the callbacks of services do not.
#include <string>
#include <utility>

#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "orchestrator/service/callback_body.h"

namespace millrace {
namespace {

Result<AcceptedFilter> accepted_filter_of(const Request& request) {
  AcceptedFilter filter{.cursor = text_parameter(request, "cursor")};
  filter.limit = TRY(limit_parameter(request, filter.limit));
  const std::string instance = text_parameter(request, "instance");
  if (instance.empty()) return filter;
  const Result<InstanceId> id = parse_instance_id(instance);
  if (!id) return fail("request.parameter", "instance: " + id.error().message);
  filter.instance = *id;
  return filter;
}

/// Reads from the body how the task ends.
using ReadEnd = Result<TaskEnded> (*)(Request& request);

Result<TaskEnded> read_result(Request& request) {
  return read_task_result(std::move(request.body));
}

Result<TaskEnded> read_error(Request& request) { return read_task_failure(request.body); }

Status answer_accepted_task(Service& service, ReadEnd read,
                            const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  AnswerTask command{.ns = TRY(namespace_of(request)), .task = {}, .what = {}};
  const Result<InstanceId> task = parse_instance_id(request.parts.at("task"));
  if (!task) return fail("request.parameter", "task: " + task.error().message);
  command.task = *task;
  command.what = TRY(read(request));
  command.only_accepted = true;
  service.command(std::move(command), exchange->replier());
  return {};
}

Route answer_route(Service& service, const std::string& verb, ReadEnd read) {
  return {.method = "POST",
          .path = "/v1/ns/{ns}/calls/{task}/" + verb,
          .answer = "CallbackAccepted",
          .errors = {"callback.ended", "call.not_accepted", "namespace.not_found"},
          .handler = [&service, read](const auto& exchange) {
            return answer_accepted_task(service, read, exchange);
          }};
}

}  // namespace

void add_call_routes(Router& router, Service& service) {
  add_read(
      router, service,
      {.method = "GET",
       .path = "/v1/ns/{ns}/calls",
       .operation = "listAcceptedTasks",
       .summary = "Lists the tasks that a service has accepted and not answered, oldest first.",
       .query = {"instance", "limit", "cursor"},
       .answer = "AcceptedTasks",
       .errors = {"namespace.not_found", "instance.not_found", "cursor.malformed"},
       .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
         const std::string ns = TRY(namespace_of(request));
         const AcceptedFilter filter = TRY(accepted_filter_of(request));
         return store.accepted_tasks(ns, filter);
       })});

  Route complete = answer_route(service, "complete", read_result);
  complete.operation = "completeAcceptedTask";
  complete.summary = "Answers an accepted task with its result, in place of the service.";
  complete.body = "TaskResult";
  complete.may_lack_body = true;
  complete.max_body = kMaxAnswerBytes;
  router.add(std::move(complete));

  Route failed = answer_route(service, "fail", read_error);
  failed.operation = "failAcceptedTask";
  failed.summary = "Answers an accepted task with an error, in place of the service.";
  failed.body = "TaskFailure";
  failed.errors.emplace_back("json.");
  failed.max_body = kMaxFailureBytes;
  router.add(std::move(failed));
}

}  // namespace millrace
