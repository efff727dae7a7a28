// POST /v1/ns/{ns}/callbacks/{callback}/…: what a service says about a task that it has accepted.
// The key in the path proves that the service has the task, so the routes need no token. No GET
// changes anything: programs that check mails follow the links in them.
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"
#include "model/task.h"

namespace millrace {
namespace {

/// The largest body that says why a task has failed.
constexpr size_t kMostFailureBytes = size_t{64} << 10;

using Said = std::variant<TaskHeartbeat, TaskEnded>;

/// Reads what a request says about the task.
using ReadSaid = Result<Said> (*)(Request& request);

Result<Said> read_result_body(Request& request) {
  return TaskEnded{.result = std::move(request.body), .variables = {}};
}

Result<Said> read_heartbeat(Request&) { return TaskHeartbeat{}; }

tl::unexpected<Error> wrong_failure(std::string why) {
  return fail("request.parameter", std::move(why));
}

Result<Said> read_failure(Request& request) {
  const Json body = TRY(parse_json(request.body));
  if (!body.is_object()) {
    return wrong_failure(R"(write a JSON object, such as {"code": "card.declined"})");
  }
  Error error;
  for (const auto& [name, value] : body.items()) {
    if (name != "code" && name != "message") {
      return wrong_failure("the body has an unknown member; valid: code, message");
    }
    if (!value.is_string()) return wrong_failure(name + ": write a text");
    (name == "code" ? error.code : error.message) = value.get<std::string>();
  }
  if (!is_identifier(error.code)) {
    return wrong_failure(
        "code: write the error code of the task: 1 to 128 letters, digits, `.`, `-` and `_`");
  }
  return TaskEnded{.result = tl::unexpected(std::move(error)), .variables = {}};
}

Status answer_task(Service& service, ReadSaid read, const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  CallbackRequest callback{
      .ns = TRY(namespace_of(request)), .key = request.parts.at("callback"), .what = {}};
  callback.what = TRY(read(request));
  service.answer_task(
      std::move(callback), exchange->back<Result<Json>>([exchange](const Result<Json>& answer) {
        const bool is_refused = !answer && answer.error().code == "callback.refused";
        if (is_refused) return exchange->refuse(answer.error());
        exchange->reply(answer);
      }));
  return {};
}

Route callback_route(Service& service, const std::string& verb, ReadSaid read) {
  return {.method = "POST",
          .path = "/v1/ns/{ns}/callbacks/{callback}/" + verb,
          .answer = "CallbackAccepted",
          .errors = {"callback.refused", "callback.ended", "namespace.not_found"},
          .open = true,
          .handler = [&service, read](const auto& exchange) {
            return answer_task(service, read, exchange);
          }};
}

}  // namespace

void add_callback_routes(Router& router, Service& service) {
  Route complete = callback_route(service, "complete", read_result_body);
  complete.operation = "completeTask";
  complete.summary = "Answers a task that a service has accepted, with its result.";
  complete.body = "TaskResult";
  complete.may_lack_body = true;
  complete.max_body = kMaxAnswerBytes;
  router.add(std::move(complete));

  Route failed = callback_route(service, "fail", read_failure);
  failed.operation = "failTask";
  failed.summary = "Answers a task that a service has accepted, with an error.";
  failed.body = "TaskFailure";
  failed.errors.emplace_back("json.");
  failed.max_body = kMostFailureBytes;
  router.add(std::move(failed));

  Route heartbeat = callback_route(service, "heartbeat", read_heartbeat);
  heartbeat.operation = "beatTask";
  heartbeat.summary = "Notes that a service still works on a task that it has accepted.";
  router.add(std::move(heartbeat));
}

}  // namespace millrace
