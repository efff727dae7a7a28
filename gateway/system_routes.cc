// The routes of the server as a whole (/livez, /readyz, /v1/info, /v1/verify, /metrics), and the
// listeners and groups of a namespace.
#include <utility>

#include "gateway/instance_filter.h"
#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

/// Shows that the process answers. Checks nothing else: an outage of the broker must not make a
/// supervisor restart this process.
Status alive(const std::shared_ptr<Exchange>& exchange) {
  exchange->reply(Json{{"status", "alive"}});
  return {};
}

/// Answers 503 for every reason why the server is not ready, although the error code of some
/// reasons gives 500 in other responses.
Status readiness(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const Status ready = service.ready();
  if (!ready) exchange->answer(problem(503, ready.error()));
  if (ready) exchange->reply(Json{{"status", "ready"}});
  return {};
}

Status metrics(Service& service, const std::function<std::string()>& gateway_metrics,
               const std::shared_ptr<Exchange>& exchange) {
  exchange->answer({200,
                    {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                    service.metrics() + gateway_metrics()});
  return {};
}

Status verify(Service& service, const std::shared_ptr<Exchange>& exchange) {
  TRY(exchange->expect_long_wait());
  service.verify(exchange->back<Result<Json>>(
      [exchange](const Result<Json>& report) { exchange->reply(report); }));
  return {};
}

}  // namespace

void add_system_routes(Router& router, Service& service,
                       std::function<std::string()> gateway_metrics) {
  router.add({.method = "GET",
              .path = "/livez",
              .operation = "getLiveness",
              .summary = "Answers 200 if the process runs.",
              .answer = "Alive",
              .lane = Lane::kInPlace,
              .open = true,
              .handler = alive});
  router.add(
      {.method = "GET",
       .path = "/readyz",
       .operation = "getReadiness",
       .summary = "Answers 200 if millrace can process its work, otherwise 503 with the reason.",
       .answer = "Ready",
       .further_answers = {{503, "Problem"}},
       .lane = Lane::kProbe,
       .open = true,
       .handler = [&service](const auto& exchange) { return readiness(service, exchange); }});
  router.add(
      {.method = "GET",
       .path = "/v1/info",
       .operation = "getInfo",
       .summary = "Shows the version, the settings and the figures of the server.",
       .answer = "ServerInfo",
       .handler = reading([&service](const Request&) -> Result<Json> { return service.info(); })});
  router.add({.method = "GET",
              .path = "/v1/verify",
              .operation = "verifyStore",
              .summary = "Checks all rows of the store; may take minutes.",
              .answer = "StoreReport",
              .handler = [&service](const auto& exchange) { return verify(service, exchange); }});
  router.add({.method = "GET",
              .path = "/metrics",
              .operation = "getMetrics",
              .summary = "Shows the metrics for Prometheus.",
              .answer = "Metrics",
              .lane = Lane::kProbe,
              .handler = [&service, own = std::move(gateway_metrics)](const auto& exchange) {
                return metrics(service, own, exchange);
              }});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/listeners",
              .operation = "listListeners",
              .summary = "Lists the listeners of starts, and of instances that wait for events.",
              .query = {"kind", "type", "workflow", "attribute", "value", "limit", "cursor"},
              .answer = "Listeners",
              .errors = {"namespace.not_found", "workflow.not_found", "id.malformed"},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                const ListenerFilter filter = TRY(listener_filter_of(request));
                return service.listeners(ns, filter);
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/groups",
              .operation = "listEventGroups",
              .summary = "Lists the groups of eventsAnd starts that are not complete.",
              .query = {"limit", "cursor"},
              .answer = "EventGroups",
              .errors = {"namespace.not_found", "cursor.malformed"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                const size_t limit = TRY(limit_parameter(request));
                return service.groups(ns, limit, text_parameter(request, "cursor"));
              })});
  router.add({.method = "DELETE",
              .path = "/v1/ns/{ns}/groups/{group}",
              .operation = "dropEventGroup",
              .summary = "Removes a group that is not complete; its events become dead letters.",
              .answer = "EventGroupDropped",
              .errors = {"namespace.not_found", "group.not_found"},
              .handler = [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
                DropGroup drop{.ns = TRY(namespace_of(exchange->request())),
                               .id = exchange->request().parts.at("group")};
                service.command(std::move(drop), exchange->back<Result<Json>>(
                                                     [exchange](const Result<Json>& dropped) {
                                                       exchange->reply(dropped);
                                                     }));
                return {};
              }});
}

}  // namespace millrace
