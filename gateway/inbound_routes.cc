// POST /v1/ns/{ns}/hooks/{webhook}: requests of other services, which prove by a signature where
// they come from; this route needs no token. The others list, try, pause and delete inbound
// webhooks.
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
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

Status pause_inbound(Service& service, const std::shared_ptr<Exchange>& exchange, bool paused) {
  PauseInboundWebhook command{.ns = TRY(namespace_of(exchange->request())),
                              .name = exchange->request().parts.at("webhook"),
                              .paused = paused};
  service.command(std::move(command), exchange->replier());
  return {};
}

Status remove_inbound(Service& service, const std::shared_ptr<Exchange>& exchange) {
  DeleteInboundWebhook command{.ns = TRY(namespace_of(exchange->request())),
                               .name = exchange->request().parts.at("webhook")};
  service.command(std::move(command), exchange->replier());
  return {};
}

tl::unexpected<Error> wrong_tried(std::string_view member, std::string_view what) {
  return fail("request.parameter", fmt::format("{}: {}", member, what));
}

Result<std::string> tried_text(const std::string& member, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return wrong_tried(member, "write a text");
}

/// The headers of {NAME: a text, or a list of texts}.
Result<Headers> tried_headers(const Json& value) {
  if (!value.is_object()) return wrong_tried("headers", "write an object of texts");
  Headers headers;
  for (const auto& [name, one] : value.items()) {
    const std::string member = "headers." + name;
    if (!one.is_array()) {
      headers.emplace_back(name, TRY(tried_text(member, one)));
      continue;
    }
    for (const Json& item : one) headers.emplace_back(name, TRY(tried_text(member, item)));
  }
  return headers;
}

/// The request that is tried: {"headers"?,"query"?,"body"?: text,"base64"?: the body}.
Result<InboundRequest> tried_request(const Request& request) {
  InboundRequest inbound{.ns = TRY(namespace_of(request)), .name = request.parts.at("webhook")};
  const Json members = TRY(parse_json(request.body));
  if (!members.is_object()) {
    return wrong_tried("the body", R"(write an object with "headers" and "body")");
  }
  for (const auto& [member, value] : members.items()) {
    if (member == "headers") {
      inbound.headers = TRY(tried_headers(value));
    } else if (member == "query") {
      if (!value.is_object()) return wrong_tried(member, "write an object of texts");
      for (const auto& [name, one] : value.items()) {
        inbound.query[name] = TRY(tried_text("query." + name, one));
      }
    } else if (member == "body") {
      inbound.body = TRY(tried_text(member, value));
    } else if (member == "base64") {
      auto bytes = base64_decode(TRY(tried_text(member, value)));
      if (!bytes) return wrong_tried(member, "write the body of the request in Base64");
      inbound.body = *std::move(bytes);
    } else {
      return wrong_tried(member, "unknown member; valid: headers, query, body, base64");
    }
  }
  return inbound;
}

void add_inbound_trial(Router& router, Service& service, const RequestLimits& limits) {
  router.add(
      {.method = "POST",
       .path = "/v1/ns/{ns}/hooks/{webhook}/try",
       .operation = "tryInboundWebhook",
       .summary = "Says what a request would become and do; nothing is published or counted.",
       .body = "InboundTrial",
       .answer = "InboundTried",
       .errors = {"namespace.not_found", "hooks.not_found", "json."},
       .max_body = limits.batch_bytes,
       .lane = Lane::kBroker,
       .handler = reading([&service](const Request& request) -> Result<Json> {
         return service.try_inbound(TRY(tried_request(request)));
       })});
}

/// The routes for operators, which need a token as others do.
void add_inbound_management(Router& router, Service& service) {
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/hooks",
              .operation = "listInboundWebhooks",
              .summary = "Lists the inbound webhooks, and what became of their requests.",
              .answer = "InboundWebhooks",
              .errors = {"namespace.not_found"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                return service.inbound_webhooks(TRY(namespace_of(request)));
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/hooks/{webhook}",
              .operation = "getInboundWebhook",
              .summary = "Shows an inbound webhook with its settings.",
              .answer = "InboundWebhook",
              .errors = {"namespace.not_found", "hooks.not_found"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                return service.inbound_webhook(ns, request.parts.at("webhook"));
              })});
  for (const bool paused : {true, false}) {
    router.add({.method = "POST",
                .path = paused ? "/v1/ns/{ns}/hooks/{webhook}/pause"
                               : "/v1/ns/{ns}/hooks/{webhook}/resume",
                .operation = paused ? "pauseInboundWebhook" : "resumeInboundWebhook",
                .summary = paused ? "Pauses an inbound webhook: its requests are answered 503."
                                  : "Resumes an inbound webhook.",
                .answer = "InboundWebhookPaused",
                .errors = {"namespace.not_found", "hooks.not_found", "settings.invalid"},
                .handler = [&service, paused](const auto& exchange) {
                  return pause_inbound(service, exchange, paused);
                }});
  }
  router.add(
      {.method = "DELETE",
       .path = "/v1/ns/{ns}/hooks/{webhook}",
       .operation = "deleteInboundWebhook",
       .summary = "Removes an inbound webhook from the settings of the namespace.",
       .answer = "InboundWebhookDeleted",
       .errors = {"namespace.not_found", "hooks.not_found", "settings.invalid"},
       .handler = [&service](const auto& exchange) { return remove_inbound(service, exchange); }});
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
              .errors = {"hooks.refused", "hooks.paused", "mapping.", "event.", "jq.unavailable",
                         "broker.", "namespace.not_found", "millrace.quota.eventsPerSecond"},
              .max_body = limits.events.event_bytes,
              .lane = Lane::kEvent,
              .open = true,
              .takes_any_query = true,
              .handler = [&service](const auto& exchange) { return receive(service, exchange); }});
  add_inbound_management(router, service);
  add_inbound_trial(router, service, limits);
}

}  // namespace millrace
