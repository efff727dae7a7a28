// POST /v1/ns/{ns}/hooks/{webhook}: requests of other services, which prove by a signature where
// they come from. The route needs no token.
#include <utility>

#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"
#include "orchestrator/signatures/signature.h"

namespace millrace {
namespace {

void answer_inbound(Exchange& exchange, const Result<InboundAnswer>& answer) {
  if (!answer) {
    if (answer.error().code == kRequestRefused) return exchange.refuse(answer.error());
    return exchange.answer(problem(answer.error()));
  }
  if (answer->challenge.empty()) {
    return exchange.answer(json_response(202, {{"id", answer->id}}));
  }
  exchange.answer(
      {200, {{"Content-Type", "text/plain"}, {"Cache-Control", "no-store"}}, answer->challenge});
}

Status receive(Service& service, const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  InboundRequest inbound{.ns = TRY(namespace_of(request))};
  inbound.name = request.parts.at("webhook");
  inbound.headers = std::move(request.headers);
  inbound.query = std::move(request.query);
  inbound.body = std::move(request.body);
  inbound.peer = request.client;
  service.receive(inbound, exchange->back<Result<InboundAnswer>>(
                               [exchange](const Result<InboundAnswer>& answer) {
                                 answer_inbound(*exchange, answer);
                               }));
  return {};
}

}  // namespace

void add_inbound_routes(Router& router, Service& service, const RequestLimits& limits) {
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/hooks/{webhook}",
              .operation = "receiveWebhook",
              .summary = "Takes a signed request of another service, and publishes its event.",
              .body = "InboundBody",
              .may_lack_body = true,
              .answer = "InboundAccepted",
              .answer_status = 202,
              .further_answers = {{200, "Challenge"}},
              .errors = {"hooks.refused", "mapping.", "event.", "jq.unavailable", "broker.",
                         "namespace.not_found", "millrace.quota.eventsPerSecond"},
              .max_body = limits.events.event_bytes,
              .lane = Lane::kEvent,
              .open = true,
              .takes_any_query = true,
              .handler = [&service](const auto& exchange) { return receive(service, exchange); }});
}

}  // namespace millrace
