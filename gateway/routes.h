// The routes of the HTTP API: each file with routes adds its routes to the router. The Service must
// outlive the router.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "cloudevents/limits.h"
#include "gateway/node_front.h"
#include "gateway/page_files.h"
#include "gateway/router.h"
#include "gateway/sessions.h"
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

/// What the routes of the server as a whole show.
struct SystemSources {
  Service* service = nullptr;                    ///< null: there is none, and `front` is not null
  NodeFront* front = nullptr;                    ///< null: the server is not part of a cluster
  std::function<std::string()> gateway_metrics;  ///< the metrics of the gateway itself; any thread
};

/// What the page needs of a server.
struct PageSources {
  PageFiles files;                               ///< empty: the server has no page
  std::shared_ptr<Sessions> sessions = nullptr;  ///< null: the server requires no token
  std::function<uint16_t()> port = [] { return uint16_t{0}; };  ///< for the name of the cookie
};

void add_event_routes(Router& router, Service& service, const RequestLimits& limits);
void add_inbound_routes(Router& router, Service& service, const RequestLimits& limits);
void add_callback_routes(Router& router, Service& service);
void add_call_routes(Router& router, Service& service);
void add_why_routes(Router& router, Service& service, const RequestLimits& limits);
void add_workflow_routes(Router& router, Service& service, const RequestLimits& limits);
void add_start_route(Router& router, Service& service, const RequestLimits& limits);
void add_instance_routes(Router& router, Service& service);
void add_namespace_routes(Router& router, Service& service);
void add_schedule_routes(Router& router, Service& service);
void add_variable_routes(Router& router, Service& service, const RequestLimits& limits);
void add_secret_routes(Router& router, Service& service);
/// The routes that each node of a cluster answers.
void add_system_routes(Router& router, const SystemSources& sources);
void add_state_routes(Router& router, Service& service);
void add_backup_routes(Router& router, Service& service);
void add_queue_routes(Router& router, Service& service);
void add_replay_routes(Router& router, Service& service);
void add_source_routes(Router& router, Service& service);
void add_letter_routes(Router& router, Service& service, const RequestLimits& limits);
void add_find_route(Router& router, Service& service);
void add_language_routes(Router& router, Service& service, const RequestLimits& limits);
void add_stream_routes(Router& router, Service& service);
void add_work_routes(Router& router, Service& service);
void add_file_routes(Router& router, Service& service);
/// The routes that show the page; they answer `page.none` if `files` is empty.
void add_page_routes(Router& router, PageFiles files);
void add_session_routes(Router& router, const PageSources& page);
/// Adds the route of the OpenAPI document, which describes the routes that the router has then.
void add_openapi_route(Router& router);

/// A router with all routes. `gateway_metrics`: as in SystemSources.
Router make_router(Service& service, const RequestLimits& limits,
                   std::function<std::string()> gateway_metrics, NodeFront* front = nullptr,
                   const PageSources& page = {});

/// A router with the same routes in the same order, without a service: only the handlers of routes
/// with `is_local` may be called.
Router make_router(const RequestLimits& limits, std::function<std::string()> gateway_metrics,
                   NodeFront* front, const PageSources& page = {});

/// The OpenAPI document of all routes; needs no service.
Json api_document();

/// Adds a route that only reads the store: one with `read` and without a handler. It gets the
/// parameter `stale`, which a server that answers with its service ignores. `store` must outlive
/// the router.
void add_read(Router& router, StoreReads& store, Route route);

/// A read whose answer is the JSON that `read` returns, with status 200.
ReadStore showing(std::function<Result<Json>(StoreReads& store, const Request& request)> read);

/// A handler that answers with the result of `read` and status 200, or with its error.
Handler reading(std::function<Result<Json>(const Request&)> read);

}  // namespace millrace
