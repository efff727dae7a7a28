#include "gateway/routes.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "gateway/parameters.h"
#include "gateway/stale_read.h"

namespace millrace {
namespace {

Router router_with(Service& service, const RequestLimits& limits, const SystemSources& sources,
                   const PageSources& page) {
  Router router;
  add_event_routes(router, service, limits);
  add_inbound_routes(router, service, limits);
  add_why_routes(router, service, limits);
  add_namespace_routes(router, service);
  add_callback_routes(router, service);
  add_call_routes(router, service);
  add_workflow_routes(router, service, limits);
  add_start_route(router, service, limits);
  add_schedule_routes(router, service);
  add_instance_routes(router, service);
  add_variable_routes(router, service, limits);
  add_secret_routes(router, service);
  add_system_routes(router, sources);
  add_state_routes(router, service);
  add_backup_routes(router, service);
  add_replay_routes(router, service);
  add_queue_routes(router, service);
  add_source_routes(router, service);
  add_letter_routes(router, service, limits);
  add_find_route(router, service);
  add_language_routes(router, service, limits);
  add_stream_routes(router, service);
  add_work_routes(router, service);
  add_file_routes(router, service);
  add_session_routes(router, page);
  add_page_routes(router, page.files);
  add_openapi_route(router);  // the last: it describes the others
  return router;
}

/// The place of a service, and no object in it. A reference may be bound to storage of the size and
/// alignment of the object, as long as nothing reads the object.
Service& uncalled_service() {
  alignas(Service) static std::byte place[sizeof(Service)];
  return *static_cast<Service*>(static_cast<void*>(place));
}

}  // namespace

void add_read(Router& router, StoreReads& store, Route route) {
  route.query.emplace_back(kStaleParameter);
  route.handler = [&store, read = route.read](const std::shared_ptr<Exchange>& exchange) -> Status {
    TRY(flag_parameter(exchange->request(), kStaleParameter));
    exchange->answer(TRY(read(store, exchange->request())));
    return {};
  };
  router.add(std::move(route));
}

ReadStore showing(std::function<Result<Json>(StoreReads& store, const Request& request)> read) {
  return [read = std::move(read)](StoreReads& store, const Request& request) -> Result<Response> {
    return json_response(200, TRY(read(store, request)));
  };
}

Handler reading(std::function<Result<Json>(const Request&)> read) {
  return [read = std::move(read)](const std::shared_ptr<Exchange>& exchange) -> Status {
    exchange->reply(read(exchange->request()));
    return {};
  };
}

Router make_router(Service& service, const RequestLimits& limits,
                   std::function<std::string()> gateway_metrics, NodeFront* front,
                   const PageSources& page) {
  return router_with(
      service, limits,
      {.service = &service, .front = front, .gateway_metrics = std::move(gateway_metrics)}, page);
}

Router make_router(const RequestLimits& limits, std::function<std::string()> gateway_metrics,
                   NodeFront* front, const PageSources& page) {
  return router_with(
      uncalled_service(), limits,
      {.service = nullptr, .front = front, .gateway_metrics = std::move(gateway_metrics)}, page);
}

}  // namespace millrace
