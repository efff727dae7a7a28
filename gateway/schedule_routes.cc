// The routes /v1/ns/{ns}/schedules and below: workflows that are started by cron.
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
  command.ns = TRY(namespace_of(request));
  command.workflow = TRY(workflow_of(request));
  const std::string instances = fmt::format("/v1/ns/{}/instances/", command.ns);
  service.command(std::move(command),
                  exchange->back<Result<Json>>([exchange, instances](const Result<Json>& answer) {
                    if (!answer) return exchange->reply(answer);
                    // With startsAt, `debounce` or `batch` has put off the start.
                    const bool is_pending = answer->contains("startsAt");
                    Json shown{{"id", answer->at("id")}};
                    if (is_pending) shown["startsAt"] = answer->at("startsAt");
                    Response response = json_response(is_pending ? 202 : 201, shown);
                    response.headers.emplace_back("Location",
                                                  instances + answer->at("id").get<std::string>());
                    exchange->answer(std::move(response));
                  }));
  return {};
}

}  // namespace

void add_schedule_routes(Router& router, Service& service) {
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/schedules",
            .operation = "listSchedules",
            .summary = "Lists the workflows that have a schedule, by id.",
            .query = {"limit", "cursor"},
            .answer = "Schedules",
            .errors = {"namespace.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const PageRequest page = TRY(page_of(request));
              return store.schedules(ns, page);
            })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/schedules/{workflow}",
            .operation = "getSchedule",
            .summary = "Shows the schedule of a workflow and its next ticks.",
            .answer = "Schedule",
            .errors = {"namespace.not_found", "workflow.not_found", "schedule.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const std::string id = TRY(workflow_of(request));
              return store.schedule(ns, id);
            })});
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/schedules/{workflow}/trigger",
              .operation = "triggerSchedule",
              .summary = "Starts an instance now, as a tick of the schedule does.",
              .answer = "InstanceStarted",
              .answer_status = 201,
              .further_answers = {{202, "InstanceStarted"}},
              .errors = {"namespace.not_found", "workflow.not_found", "schedule.not_found",
                         "direktiv.mutex", "millrace.concurrency.", "millrace.quota.",
                         "millrace.rateLimit", "millrace.startKey", "millrace.throttle."},
              .handler = [&service](const auto& exchange) { return trigger(service, exchange); }});
}

}  // namespace millrace
