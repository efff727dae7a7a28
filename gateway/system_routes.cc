// What is asked of the server as a whole: is it alive, is it ready, what is it, how does it do; and
// what a namespace listens for and has set aside.
#include <utility>

#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

/// This process answers; nothing else is looked at, so that a broker's outage does not get it
/// restarted.
Status alive(const std::shared_ptr<Exchange>& exchange) {
  exchange->reply(Json{{"status", "alive"}});
  return {};
}

/// 503 whatever the reason is: some are errors that are 500 where they answer a request.
Status readiness(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const Status ready = service.ready();
  if (!ready) exchange->answer(problem(503, ready.error()));
  if (ready) exchange->reply(Json{{"status", "ready"}});
  return {};
}

Status metrics(Service& service, const std::shared_ptr<Exchange>& exchange) {
  exchange->answer(
      {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, service.metrics()});
  return {};
}

Status verify(Service& service, const std::shared_ptr<Exchange>& exchange) {
  exchange->expect_long_wait();
  service.verify(exchange->back<Result<Json>>(
      [exchange](const Result<Json>& report) { exchange->reply(report); }));
  return {};
}

}  // namespace

void add_system_routes(Router& router, Service& service) {
  router.add(
      {.method = "GET", .path = "/livez", .lane = Lane::kInPlace, .open = true, .handler = alive});
  router.add(
      {.method = "GET",
       .path = "/readyz",
       .open = true,
       .handler = [&service](const auto& exchange) { return readiness(service, exchange); }});
  router.add(
      {.method = "GET",
       .path = "/v1/info",
       .handler = reading([&service](const Request&) -> Result<Json> { return service.info(); })});
  router.add({.method = "GET", .path = "/v1/verify", .handler = [&service](const auto& exchange) {
                return verify(service, exchange);
              }});
  router.add({.method = "GET", .path = "/metrics", .handler = [&service](const auto& exchange) {
                return metrics(service, exchange);
              }});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/listeners",
              .query = {"limit", "cursor"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string space = TRY(namespace_of(request));
                const size_t limit = TRY(limit_parameter(request));
                return service.listeners(space, limit, text_parameter(request, "cursor"));
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/groups",
              .query = {"limit", "cursor"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string space = TRY(namespace_of(request));
                const size_t limit = TRY(limit_parameter(request));
                return service.groups(space, limit, text_parameter(request, "cursor"));
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/dlq",
              .query = {"limit", "cursor"},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                // Not namespace_of: an event's subject may name what no namespace is called.
                const std::string& space = request.parts.at("ns");
                const size_t limit = TRY(limit_parameter(request));
                return service.dead_letters(space, limit, text_parameter(request, "cursor"));
              })});
}

}  // namespace millrace
