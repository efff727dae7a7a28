// POST /v1/ns/{ns}/workflows/{workflow}/start. Without `wait`: 201 {"id"}, or 200 {"id"} if an
// earlier request with this Idempotency-Key started the instance. With `wait`: 200 and the instance
// once it has ended; if that takes longer than `wait`, 202 {"id"} with the header Millrace-Wait:
// timeout. The header Location names the instance in each case. The header Millrace-Retry and the
// timeouts in the query apply to this instance only.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/event.h"
#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"
#include "language/findings.h"
#include "language/own_policy.h"
#include "policies/duration.h"

namespace millrace {
namespace {

constexpr size_t kMaxKey = 255;

/// The input of the instance: the body if it is valid JSON, whatever the content type, otherwise
/// its bytes in Base64; without a body, an empty object. Refused are JSON that nests too deep or
/// contains a number beyond a double, and a body that is not JSON although its content type says
/// JSON.
Result<Json> input_of(const Request& request) {
  const std::string& body = request.body;
  if (body.empty()) return Json::object();
  Result<Json> json = parse_json(body);
  if (json || json.error().code != "json.malformed") return json;
  if (const std::string* type = find_header(request.headers, "Content-Type");
      type != nullptr && is_json_content_type(*type)) {
    return fail_in(fmt::format("the content type is {} and the body is not JSON", in_quotes(*type)),
                   std::move(json).error());
  }
  return Json(base64_encode(body));
}

Result<std::string> key_of(const Request& request) {
  const std::string* key = find_header(request.headers, "Idempotency-Key");
  if (key == nullptr) return std::string();
  if (!key->empty() && key->size() <= kMaxKey && is_utf8(*key)) return *key;
  return fail("request.parameter",
              fmt::format("Idempotency-Key: expected 1 to {} bytes of UTF-8", kMaxKey));
}

Result<std::optional<Duration>> wait_of(const Request& request, Duration longest) {
  const auto found = request.query.find("wait");
  if (found == request.query.end()) return std::optional<Duration>();
  Result<Span> span = Span::parse(found->second);
  if (!span) return fail_in("wait", std::move(span.error()));
  if (span->months == 0 && span->fixed <= longest) return std::optional(span->fixed);
  return fail("request.parameter",
              fmt::format("wait: {} is longer than {} s, the longest wait of a request",
                          in_quotes(found->second), longest.count() / 1000));
}

/// The retry policy and the timeouts for this instance only, from the header `Millrace-Retry` and
/// the query.
Result<std::string> own_policy_of(const Request& request) {
  const std::string* const retries = find_header(request.headers, "Millrace-Retry");
  return write_own_policy({.retries = retries == nullptr ? "" : *retries,
                           .execution = text_parameter(request, "executionTimeout"),
                           .run = text_parameter(request, "runTimeout"),
                           .task = text_parameter(request, "taskTimeout")});
}

Response at(const std::string& location, Response response) {
  response.headers.emplace_back("Location", location);
  return response;
}

Response rendered(const Result<Json>& instance) {
  return instance ? json_response(200, *instance) : problem(instance.error());
}

Response not_ended(const Error& error, const std::string& id) {
  if (error.code != "wait.timeout") return problem(error);
  Response response = json_response(202, {{"id", id}});
  response.headers.emplace_back("Millrace-Wait", "timeout");
  return response;
}

/// A wait that was not answered yet.
struct PendingEnd {
  std::string ns;
  InstanceId instance;
  std::string location;  ///< the path of the instance
  Duration left;         ///< of the wait
};

/// The engine is asked for the end of an instance for at most this long at a time, so that it soon
/// drops the wait of a caller that has left.
constexpr Duration kWaitPart = std::chrono::seconds(10);

void wait_for_end(Service& service, const std::shared_ptr<Exchange>& exchange, PendingEnd pending) {
  if (!exchange->is_wanted()) return;
  const Duration part = std::min(pending.left, kWaitPart);
  pending.left -= part;
  const std::string ns = pending.ns;
  const InstanceId instance = pending.instance;
  service.wait_for_end(
      ns, instance, part, exchange->connection(),
      exchange->back_to_read<Status>(
          [&service, exchange, pending = std::move(pending)](const Status& ended) {
            if (!exchange->is_wanted()) return;
            if (ended) {
              return exchange->answer(
                  at(pending.location, rendered(service.instance(pending.ns, pending.instance))));
            }
            if (ended.error().code == "wait.timeout" && pending.left > Duration(0)) {
              return wait_for_end(service, exchange, pending);
            }
            exchange->answer(
                at(pending.location, not_ended(ended.error(), to_string(pending.instance))));
          }));
}

/// Continues once the start is on disk: answers, or waits for the end of the instance.
void started(Service& service, const std::shared_ptr<Exchange>& exchange, const std::string& ns,
             std::optional<Duration> wait, const Result<Json>& answer) {
  if (!answer) return exchange->reply(answer);
  const auto id = answer->at("id").get<std::string>();
  const std::string location = fmt::format("/v1/ns/{}/instances/{}", ns, id);
  // A start that `debounce` or `batch` has put off: there is no instance to wait for yet.
  if (answer->contains("startsAt")) {
    const Json pending{{"id", id}, {"startsAt", answer->at("startsAt")}};
    return exchange->answer(at(location, json_response(202, pending)));
  }
  if (!wait) {
    const unsigned status = answer->at("created").get<bool>() ? 201 : 200;
    return exchange->answer(at(location, json_response(status, {{"id", id}})));
  }
  const Result<InstanceId> instance = parse_instance_id(id);
  if (!instance) return exchange->answer(problem(instance.error()));
  wait_for_end(service, exchange,
               {.ns = ns, .instance = *instance, .location = location, .left = *wait});
}

Status start(Service& service, Duration longest_wait, const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  StartInstance command;
  command.ns = TRY(namespace_of(request));
  command.workflow = TRY(workflow_of(request));
  command.input = LazyJson::of_tree(TRY(input_of(request)));
  command.idempotency_key = TRY(key_of(request));
  command.own_policy = TRY(own_policy_of(request));
  const std::optional<Duration> wait = TRY(wait_of(request, longest_wait));
  if (wait) {
    TRY(exchange->expect_long_wait());
    exchange->free_body();
  }
  const std::string ns = command.ns;
  service.command(
      std::move(command),
      exchange->back<Result<Json>>([&service, exchange, ns, wait](const Result<Json>& answer) {
        started(service, exchange, ns, wait, answer);
      }));
  return {};
}

}  // namespace

void add_start_route(Router& router, Service& service, const RequestLimits& limits) {
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/workflows/{workflow}/start",
              .operation = "startInstance",
              .summary = "Starts an instance, and waits for its end if `wait` is given.",
              .query = {"wait", "executionTimeout", "runTimeout", "taskTimeout"},
              .headers = {"Idempotency-Key", "Millrace-Retry"},
              .body = "StartInput",
              .may_lack_body = true,
              .answer = "InstanceStarted",
              .answer_status = 201,
              .further_answers = {{200, "StartedOrEnded"}, {202, "InstanceStarted"}},
              .errors = {"namespace.not_found", "workflow.not_found", "instance.not_found",
                         "start.conflict", "start.key_with_batch", "direktiv.mutex",
                         "millrace.concurrency.", "millrace.quota.", "millrace.rateLimit",
                         "millrace.startKey", "millrace.throttle.", "millrace.limits.data", "json.",
                         "duration.", "retry.malformed"},
              .max_body = limits.input_bytes,
              .handler = [&service, longest = limits.wait](const auto& exchange) {
                return start(service, longest, exchange);
              }});
}

}  // namespace millrace
