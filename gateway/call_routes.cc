// The routes of tasks that a service has accepted: which wait for an answer.
#include <string>
#include <utility>

#include "gateway/parameters.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

Result<AcceptedFilter> accepted_filter_of(const Request& request) {
  AcceptedFilter filter{.cursor = text_parameter(request, "cursor")};
  filter.limit = TRY(limit_parameter(request, filter.limit));
  const std::string instance = text_parameter(request, "instance");
  if (instance.empty()) return filter;
  const Result<InstanceId> id = parse_instance_id(instance);
  if (!id) return fail("request.parameter", "instance: " + id.error().message);
  filter.instance = *id;
  return filter;
}

}  // namespace

void add_call_routes(Router& router, Service& service) {
  add_read(
      router, service,
      {.method = "GET",
       .path = "/v1/ns/{ns}/calls",
       .operation = "listAcceptedTasks",
       .summary = "Lists the tasks that a service has accepted and not answered, oldest first.",
       .query = {"instance", "limit", "cursor"},
       .answer = "AcceptedTasks",
       .errors = {"namespace.not_found", "instance.not_found", "cursor.malformed"},
       .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
         const std::string ns = TRY(namespace_of(request));
         const AcceptedFilter filter = TRY(accepted_filter_of(request));
         return store.accepted_tasks(ns, filter);
       })});
}

}  // namespace millrace
