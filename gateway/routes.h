// The routes of the HTTP API: each file with routes adds its routes to the router. The Service must
// outlive the router.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/time.h"
#include "cloudevents/limits.h"
#include "gateway/router.h"
#include "model/variable.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// Limits on the body of a request, in bytes, and on the time that it may wait.
struct RequestLimits {
  EventLimits events;
  size_t batch_bytes = size_t{16} << 20;
  size_t definition_bytes = size_t{1} << 20;
  size_t input_bytes = size_t{1} << 20;
  size_t variable_bytes = kMaxVariableBytes;
  Duration wait = std::chrono::hours(1);
};

void add_event_routes(Router& router, Service& service, const RequestLimits& limits);
void add_why_routes(Router& router, Service& service, const RequestLimits& limits);
void add_workflow_routes(Router& router, Service& service, const RequestLimits& limits);
void add_start_route(Router& router, Service& service, const RequestLimits& limits);
void add_instance_routes(Router& router, Service& service);
void add_namespace_routes(Router& router, Service& service);
void add_schedule_routes(Router& router, Service& service);
void add_variable_routes(Router& router, Service& service, const RequestLimits& limits);
void add_secret_routes(Router& router, Service& service);
/// `gateway_metrics`: the metrics of the gateway itself, for /metrics. Any thread.
void add_system_routes(Router& router, Service& service,
                       std::function<std::string()> gateway_metrics);
void add_backup_routes(Router& router, Service& service);
void add_replay_routes(Router& router, Service& service);
void add_letter_routes(Router& router, Service& service, const RequestLimits& limits);
void add_find_route(Router& router, Service& service);
void add_language_routes(Router& router, Service& service, const RequestLimits& limits);
void add_stream_routes(Router& router, Service& service);
void add_work_routes(Router& router, Service& service);
/// Adds the route of the OpenAPI document, which describes the routes that the router has then.
void add_openapi_route(Router& router);

/// A router with all routes. `gateway_metrics`: as in add_system_routes().
Router make_router(Service& service, const RequestLimits& limits,
                   std::function<std::string()> gateway_metrics);

/// The OpenAPI document of all routes; needs no service.
Json api_document();

/// A handler that answers with the result of `read` and status 200, or with its error.
Handler reading(std::function<Result<Json>(const Request&)> read);

}  // namespace millrace
