// POST /v1/ns/{ns}/callbacks/{callback}/…: what a service says about a task that it has accepted.
// The key in the path proves that the service has the task, so the routes need no token. No GET
// changes anything: programs that check mails follow the links in them.
#include <string>
#include <utility>

#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"
#include "gateway/task_end_body.h"
#include "orchestrator/service/callback_body.h"

namespace millrace {
namespace {

Status answer_task(Service& service, const std::string& verb,
                   const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  CallbackRequest callback{
      .ns = TRY(namespace_of(request)), .key = request.parts.at("callback"), .what = {}};
  if (verb == "complete") TRY(check_json_body(request));
  callback.what = TRY(read_callback_body(verb, std::move(request.body)));
  service.answer_task(
      std::move(callback), exchange->back<Result<Json>>([exchange](const Result<Json>& answer) {
        const bool is_refused = !answer && answer.error().code == "callback.refused";
        if (is_refused) return exchange->refuse(answer.error());
        exchange->reply(answer);
      }));
  return {};
}

Route callback_route(Service& service, const std::string& verb) {
  return {.method = "POST",
          .path = "/v1/ns/{ns}/callbacks/{callback}/" + verb,
          .answer = "CallbackAccepted",
          .errors = {"broker.", "callback.refused", "callback.ended", "namespace.not_found"},
          .open = true,
          .handler = [&service, verb](const auto& exchange) {
            return answer_task(service, verb, exchange);
          }};
}

}  // namespace

void add_callback_routes(Router& router, Service& service) {
  Route complete = callback_route(service, "complete");
  complete.errors.emplace_back("files.gone");
  complete = taking_result(std::move(complete));
  complete.operation = "completeTask";
  complete.summary = "Answers a task that a service has accepted, with its result.";
  router.add(std::move(complete));

  Route failed = taking_failure(callback_route(service, "fail"));
  failed.operation = "failTask";
  failed.summary = "Answers a task that a service has accepted, with an error.";
  router.add(std::move(failed));

  Route heartbeat = callback_route(service, "heartbeat");
  heartbeat.operation = "beatTask";
  heartbeat.summary = "Notes that a service still works on a task that it has accepted.";
  heartbeat.body = "TaskProgress";
  heartbeat.may_lack_body = true;
  heartbeat.errors.emplace_back("json.");
  heartbeat.max_body = kMaxHeartbeatBytes;
  router.add(std::move(heartbeat));
}

}  // namespace millrace
