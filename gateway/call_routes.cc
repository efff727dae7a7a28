// The routes of tasks that a service has accepted: which wait for an answer, and the answer of an
// operator in place of the service. They need the token; the callbacks of services do not.
#include <string>
#include <utility>

#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "gateway/task_end_body.h"
#include "orchestrator/service/callback_body.h"

namespace millrace {
namespace {

Result<AcceptedFilter> accepted_filter_of(const Request& request) {
  AcceptedFilter filter{.cursor = text_parameter(request, "cursor")};
  filter.limit = TRY(limit_parameter(request, filter.limit));
  filter.instance = TRY(instance_parameter(request));
  return filter;
}

Status answer_accepted_task(Service& service, const std::string& verb,
                            const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  AnswerTask command{.ns = TRY(namespace_of(request)), .task = {}, .what = {}};
  const Result<InstanceId> task = parse_instance_id(request.parts.at("task"));
  if (!task) return fail("request.parameter", "task: " + task.error().message);
  command.task = *task;
  if (verb == "complete") TRY(check_json_body(request));
  command.what = TRY(read_callback_body(verb, std::move(request.body)));
  command.by = AnsweredBy::kOperator;
  service.command(std::move(command), exchange->replier());
  return {};
}

Route answer_route(Service& service, const std::string& verb) {
  return {.method = "POST",
          .path = "/v1/ns/{ns}/calls/{task}/" + verb,
          .answer = "CallbackAccepted",
          .errors = {"callback.ended", "call.not_accepted", "namespace.not_found"},
          .handler = [&service, verb](const auto& exchange) {
            return answer_accepted_task(service, verb, exchange);
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

  Route complete = taking_result(answer_route(service, "complete"));
  complete.operation = "completeAcceptedTask";
  complete.summary = "Answers an accepted task with its result, in place of the service.";
  router.add(std::move(complete));

  Route failed = taking_failure(answer_route(service, "fail"));
  failed.operation = "failAcceptedTask";
  failed.summary = "Answers an accepted task with an error, in place of the service.";
  router.add(std::move(failed));
}

}  // namespace millrace
