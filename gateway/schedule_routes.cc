// /v1/ns/{ns}/schedules and below: when workflows start by the clock.
#include <utility>

#include <fmt/format.h>

#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

Status trigger(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  TriggerSchedule command;
  command.space = TRY(namespace_of(request));
  command.workflow = TRY(workflow_of(request));
  const std::string instances = fmt::format("/v1/ns/{}/instances/", command.space);
  service.command(std::move(command),
                  exchange->back<Result<Json>>([exchange, instances](const Result<Json>& answer) {
                    if (!answer) return exchange->reply(answer);
                    Response response = json_response(201, *answer);
                    response.headers.emplace_back("Location",
                                                  instances + answer->at("id").get<std::string>());
                    exchange->answer(std::move(response));
                  }));
  return {};
}

}  // namespace

void add_schedule_routes(Router& router, Service& service) {
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/schedules",
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string space = TRY(namespace_of(request));
                return service.schedules(space);
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/schedules/{workflow}",
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string space = TRY(namespace_of(request));
                const std::string id = TRY(workflow_of(request));
                return service.schedule(space, id);
              })});
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/schedules/{workflow}/trigger",
              .handler = [&service](const auto& exchange) { return trigger(service, exchange); }});
}

}  // namespace millrace
