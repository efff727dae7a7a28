// GET /v1/ns/{ns}/instances and below.
#include <fmt/format.h>

#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "model/findings.h"

namespace millrace {
namespace {

Result<InstanceFilter> filter_of(const Request& request) {
  InstanceFilter filter;
  filter.workflow = text_parameter(request, "workflow");
  filter.limit = TRY(limit_parameter(request));
  filter.cursor = text_parameter(request, "cursor");
  if (const std::string status = text_parameter(request, "status"); !status.empty()) {
    filter.status = parse_status(status);
    if (!filter.status) {
      return fail("request.parameter",
                  fmt::format("status: {} is none of pending, running, waiting, paused, complete, "
                              "failed, cancelled, timedout",
                              in_quotes(status)));
    }
  }
  if (const std::string since = text_parameter(request, "since"); !since.empty()) {
    Result<TimePoint> time = parse_rfc3339(since);
    if (!time) return fail_in("since", std::move(time.error()));
    filter.since = *time;
  }
  return filter;
}

// What a command takes beside the instance.

template <class T>
Status read_more(T&, const Request&) {
  return {};
}
Status read_more(CancelInstance& command, const Request& request) {
  command.now = TRY(flag_parameter(request, "now"));
  return {};
}
Status read_more(RetryInstance& command, const Request& request) {
  command.extend = TRY(flag_parameter(request, "extend"));
  return {};
}
Status read_more(RerunInstance& command, const Request& request) {
  command.state = text_parameter(request, "from");
  if (!command.state.empty()) return {};
  return fail("request.parameter", "from: name the state to run it again from: ?from=STATE");
}

/// A command on the instance that the path names.
template <class T>
Handler commanding(Service& service) {
  return [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
    T command;
    command.space = TRY(namespace_of(exchange->request()));
    command.instance = TRY(instance_of(exchange->request()));
    TRY(read_more(command, exchange->request()));
    service.command(std::move(command),
                    exchange->back<Result<Json>>(
                        [exchange](const Result<Json>& answer) { exchange->reply(answer); }));
    return {};
  };
}

}  // namespace

void add_instance_routes(Router& router, Service& service) {
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/instances",
              .query = {"workflow", "status", "since", "limit", "cursor"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string space = TRY(namespace_of(request));
                const InstanceFilter filter = TRY(filter_of(request));
                return service.instances(space, filter);
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/instances/{instance}",
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string space = TRY(namespace_of(request));
                const InstanceId id = TRY(instance_of(request));
                return service.instance(space, id);
              })});
  router.add({.method = "DELETE",
              .path = "/v1/ns/{ns}/instances/{instance}",
              .handler = commanding<DeleteInstance>(service)});
  const auto add_verb = [&](const char* verb, std::vector<std::string> query, Handler handler) {
    router.add({.method = "POST",
                .path = fmt::format("/v1/ns/{{ns}}/instances/{{instance}}/{}", verb),
                .query = std::move(query),
                .handler = std::move(handler)});
  };
  add_verb("cancel", {"now"}, commanding<CancelInstance>(service));
  add_verb("pause", {}, commanding<PauseInstance>(service));
  add_verb("resume", {}, commanding<ResumeInstance>(service));
  add_verb("retry", {"extend"}, commanding<RetryInstance>(service));
  add_verb("restart", {}, commanding<RestartInstance>(service));
  add_verb("rerun", {"from"}, commanding<RerunInstance>(service));
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/instances/{instance}/history",
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string space = TRY(namespace_of(request));
                const InstanceId id = TRY(instance_of(request));
                return service.history(space, id);
              })});
}

}  // namespace millrace
